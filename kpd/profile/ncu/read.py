"""Prints a report as JSON, as a program: `python -P -m kpd.profile.ncu.read FOLDER`.

NVIDIA's reader is a native library, and a report comes from a host where a candidate has run. So it is not loaded into
the daemon, which also saves the memory that pandas takes.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from kpd.profile.ncu.launches import ProfiledLaunch

REPORT, RAW, DETAILS = "report.ncu-rep", "raw.csv", "details.csv"
MOST = 512
"""The most launches that are read: a case has one, or a few."""


def has_reader() -> bool:
    """Return whether NVIDIA's reader is installed here."""
    return importlib.util.find_spec("ncu_report") is not None


def launches(folder: Path) -> Iterator[ProfiledLaunch]:
    """Yield the launches of the report in `folder` if NVIDIA's reader is installed, else of the exported pages."""
    report, raw, details = folder / REPORT, folder / RAW, folder / DETAILS
    if has_reader() and report.exists():
        from kpd.profile.ncu import report as reader  # imported only where its library is installed

        yield from reader.launches(report)
    else:
        from kpd.profile.ncu import pages  # it takes half a second to import

        yield from pages.launches(raw, details if details.exists() else None)


def main(folder: Path) -> None:
    found = [asdict(launch) for _, launch in zip(range(MOST), launches(folder), strict=False)]
    sys.stdout.write(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
