"""The recorded reports of Nsight Compute in tests/data/ncu, and a stand-in for the program that leaves them."""

import lzma
import os
from functools import cache
from pathlib import Path

from kpd.model.profiles import CaseTime
from tests.places import DATA

REPORTS = DATA / "ncu"
CASES = ("square_4096", "square_1024", "tall", "wide", "odd")
BYTES = tuple(
    8.0 * rows * cols for rows, cols in ((4096, 4096), (1024, 1024), (16384, 1024), (512, 32768), (4097, 3001))
)

# Leaves the recording $REPORT instead of profiling, after it has run what it was told to; `--import` prints the pages.
_NCU = """#!/bin/sh
echo "$@" >>"$HERE/asked"
case "$*" in
  *--import*--page\\ raw*) cat "$HERE/raw.csv"; exit ;;
  *--import*--page\\ details*) cat "$HERE/details.csv"; exit ;;
esac
if [ -s "$HERE/refusal" ] && { [ ! -e "$HERE/once" ] || [ ! -e "$HERE/refused" ]; }; then
  touch "$HERE/refused"; cat "$HERE/refusal"; exit 1
fi
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
out=$2; shift 2
"$@" && echo "$TMPDIR" >"$HERE/tmpdir" && cp "$HERE/report" "$out.ncu-rep"
"""


@cache
def recorded(name: str) -> bytes:
    return lzma.decompress((REPORTS / f"{name}.xz").read_bytes())


def pages() -> dict[str, bytes]:
    """The baseline's report, as ncu exports it."""
    return {"raw.csv": recorded("baseline.raw.csv"), "details.csv": recorded("baseline.details.csv")}


def timed(times_us: tuple[float, ...], launch_us: float = 3.0) -> tuple[CaseTime, ...]:
    """The times of the recordings' cases; a call's on the device is `launch_us` less. Roofline: 3 TB/s."""
    return tuple(
        CaseTime(case, us, us, 0.0, moved, None, moved / 3e6, us - launch_us)
        for case, us, moved in zip(CASES, times_us, BYTES, strict=True)
    )


BASELINE_US, TILED_US = (293.6, 20.8, 303.8, 321.8, 217.5), (48.5, 6.0, 48.6, 48.7, 45.8)


def stand_in(folder: Path, name: str = "baseline", refusal: str = "", once: bool = False) -> Path:
    """A program `ncu` in `folder`, whose every run leaves the recording `name`, or says `refusal` and leaves nothing.

    With `once` it refuses the first time only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report").write_bytes(recorded(f"{name}.ncu-rep"))
    for page, content in pages().items():
        (folder / page).write_bytes(content)
    (folder / "refusal").write_text(refusal)
    if once:
        (folder / "once").touch()
    program = folder / "ncu"
    program.write_text(_NCU.replace("$HERE", str(folder)))
    program.chmod(0o755)
    return program


def on_path(folder: Path) -> str:
    return f"{folder}:{os.environ['PATH']}"
