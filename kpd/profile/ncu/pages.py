"""Reads a report from ncu's CSV export: `ncu --import … --csv --page raw` and `--page details`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas

from kpd.model.profiles import Scope
from kpd.profile.ncu.launches import Level, ProfiledLaunch, VendorAdvice, base
from kpd.profile.ncu.metrics import SOURCES

_LEVELS: dict[str, Level] = {"OPT": "OPT", "INF": "INF", "WRN": "WRN", "ERR": "WRN"}
_SCOPES: dict[str, Scope] = {"global": "global", "local": "local"}
_RANGE = re.compile(r'"[^"]*?:(?P<name>[^\n]*?)(?::[^:"]*){6}"')
"""A range as ncu writes it: "<default domain>:name:" and six more fields, all quoted."""


def launches(raw: Path, details: Path | None) -> Iterator[ProfiledLaunch]:
    """Yield every kernel launch on the raw page, in its order, with its advice from the details page."""
    table = _table(raw)
    units, rows = table.iloc[0], table.iloc[1:]
    advice = _advice(details) if details is not None else {}
    nvtx = next((name for name in table.columns if "Push/Pop_Range" in name), "")
    for row in rows.to_dict("records"):
        yield ProfiledLaunch(
            function(row["Kernel Name"]),
            tuple(found["name"] for found in _RANGE.finditer(row[nvtx])) if nvtx else (),
            _dims(row["Grid Size"]),
            _dims(row["Block Size"]),
            {
                name: value
                for name in sorted(SOURCES & row.keys())
                if (value := base(number(row[name]), units[name])) is not None
            },
            advice.get(row["ID"], ()),
        )


def number(text: str) -> float:
    """Parse a value as ncu writes it, with commas between thousands; NaN for "n/a" and anything else."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def function(name: str) -> str:
    """Find the bare name in a demangled signature: `void ns::scale<float>(float *, int)` is `scale`."""
    found = name
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", found)) != found:
        found = shorter
    words = found.split()
    return words[-1].rsplit("::", 1)[-1] if words else name


def _table(path: Path) -> pandas.DataFrame:
    """Read a page as a table of text, and skip what ncu has written before it. Raises ValueError when there is none."""
    with path.open(encoding="utf-8", errors="replace") as file:
        before = next((at for at, line in enumerate(file) if line.startswith('"ID",')), None)
    if before is None:
        raise ValueError(f"{path.name} has no table")
    return pandas.read_csv(path, dtype=str, keep_default_na=False, skiprows=before, encoding_errors="replace")


def _dims(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d{1,10}", text))


def _advice(details: Path) -> Mapping[str, tuple[VendorAdvice, ...]]:
    """Collect the advice by the launch's id. Versions before 2023 write no estimates."""
    table = _table(details)
    found: dict[str, tuple[VendorAdvice, ...]] = {}
    for row in table.to_dict("records"):
        level = _LEVELS.get(row.get("Rule Type") or "")
        if level is not None and row.get("Rule Description"):
            speedup = base(number(row.get("Estimated Speedup") or ""), "%")
            scope = _SCOPES.get(row.get("Estimated Speedup Type") or "", "")
            said = VendorAdvice(row["Rule Name"], level, row["Rule Description"], speedup, scope)
            found[row["ID"]] = (*found.get(row["ID"], ()), said)
    return found
