"""Makes `observed.json` of what was observed: the table that `kpd task new --observed` reads, and more beside it.

    {"kernel": "imaging::transpose", "captured_at": "…",
     "launches": [{"grid_x": 3, …, "block_z": 1, "rows": 64, "duration_us": 2.1}, …],
     "details": [{"shared_bytes": 4224, "process": 0, …, "pointers": {"out": "0x…"}, "bytes": {"pair": "0x…"}}, …],
     "capture": {"key": "…", "symbol": "_ZN…", "parameters": [ … ], "counted": 12, …}}

The Nth of `details` belongs to the Nth of `launches`.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from kpd.onboarding.launch_configs import SPREAD, TOP, LaunchConfig, representative
from kpd.onboarding.observed import MOST_LAUNCHES, ObservedError, parse_table
from kpd.production.observe.decoding import DecodedParameter, ParameterKind, Value, decode
from kpd.production.observe.launches import KernelTotal, SeenLaunch
from kpd.production.observe.names import KernelName
from kpd.source.kernels import Kernel
from kpd.workspace.run_files import MOST_BYTES, read_plain, write_atomic

MOST_KERNELS = 50
UNNAMED = "(anonymous namespace)::"
_TAKEN = re.compile(r"(grid|block)(_[xyz])?|duration(_[un]s)?")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the kernel's work the table has. `counted` launches ran in the program, `recorded` of them in full.

    Of those `timed` have a duration, and `kept` are in the table. `share_of_gpu_time` is the kernel's share of the time
    of all kernels of the program; None where no time is known.
    """

    counted: int
    recorded: int
    timed: int
    kept: int
    share_of_gpu_time: float | None


@dataclass(frozen=True, slots=True)
class Observation:
    """One kernel in one run of its program. `problems` say what could not be had; `kernels` are all of the program.

    `parameters` and `launches` have the same launches in the same order. `seen_by` says how it was observed: by the
    library that is loaded into the program, or by lines that were in its source for one run.
    """

    name: KernelName
    captured_at: str
    launches: tuple[SeenLaunch, ...]
    parameters: tuple[DecodedParameter, ...]
    coverage: Coverage
    kernels: tuple[KernelTotal, ...]
    devices: Mapping[int, str]
    problems: tuple[str, ...]
    key: str = ""
    seen_by: Literal["injection", "source"] = "injection"


def observation(
    name: KernelName, source: Kernel | None, seen: Sequence[SeenLaunch], kernels: Sequence[KernelTotal],
    devices: Mapping[int, str], problems: Sequence[str], captured_at: str, key: str = "",
) -> Observation:  # fmt: skip
    """Put together what is known of the kernel. Its launches are those of `seen`; `source` names the parameters.

    Launches without a duration are left out where others have one, and told in the coverage.
    """
    ours = [one for one in seen if one.symbol == name.symbol]
    told = list(problems)
    if missing := sorted({one.missing for one in ours if one.missing}):
        told.append(f"the parameters of some launches are not known: {', '.join(missing)}")
    complete = [one for one in ours if not one.missing]
    timed = [one for one in complete if one.duration_us is not None]
    kept = (timed or complete or ours)[:MOST_LAUNCHES]
    types = name.types
    if types is None and source is not None and not source.template:
        types = tuple(one.type for one in source.parameters)
    names = None if source is None else tuple(one.name for one in source.parameters)
    layouts = {tuple((part.offset, len(part.data)) for part in one.parameters) for one in kept}
    if len(layouts) > 1:
        told.append("its launches have different layouts of parameters")
    known = complete and len(layouts) == 1
    parameters = decode([one.parameters for one in kept], types, names) if known else ()
    total = next((one for one in kernels if one.symbol == name.symbol), None)
    whole = sum(one.ms or 0 for one in kernels)
    share = total.ms / whole if total is not None and total.ms and whole else None
    coverage = Coverage(total.count if total else 0, len(ours), len(timed), len(kept), share)
    return Observation(name, captured_at, tuple(kept), parameters, coverage, tuple(kernels), devices, tuple(told), key)


def as_json(seen: Observation) -> dict[str, Any]:
    """Return the whole `observed.json`."""
    rows, details = [], []
    for at, one in enumerate(seen.launches):
        row: dict[str, Any] = {
            f"{what}_{axis}": count
            for what, size in (("grid", one.grid), ("block", one.block))
            for axis, count in zip("xyz", size, strict=True)
        }
        row |= {_column(name): value for name, value in _values(seen, "number", at).items()}
        if one.duration_us is not None:
            row["duration_us"] = one.duration_us
        rows.append(row)
        details.append(
            {
                "shared_bytes": one.shared_bytes, "process": one.process, "thread": one.thread, "stream": one.stream,
                "device": one.device, "flags": list(one.flags),
                "pointers": _values(seen, "pointer", at),
                "bytes": _values(seen, "bytes", at),
            }
        )  # fmt: skip
    return {
        "kernel": seen.name.qualified.replace(UNNAMED, ""),
        "captured_at": seen.captured_at,
        "launches": rows,
        "details": details,
        "capture": {
            "key": seen.key,
            "seen_by": seen.seen_by,
            "symbol": seen.name.symbol,
            "template": seen.name.template,
            "parameters": [
                {"name": one.name, "type": one.type, "size": one.size, "kind": one.kind} for one in seen.parameters
            ],
            **asdict(seen.coverage),
            "gpus": {str(number): name for number, name in seen.devices.items()},
            "kernels": [
                {"symbol": one.symbol, "count": one.count, "ms": one.ms} for one in seen.kernels[:MOST_KERNELS]
            ],
            "problems": list(seen.problems),
        },
    }  # fmt: skip


def _values(seen: Observation, kind: ParameterKind, at: int) -> dict[str, Value]:
    return {one.name: one.values[at] for one in seen.parameters if one.kind == kind}


def _column(name: str) -> str:
    """Return the parameter's name in a row, where some names say something else."""
    return f"{name}_parameter" if _TAKEN.fullmatch(name) else name


def write(path: Path, seen: Observation) -> None:
    """Write `observed.json`, which `kpd task new` can read. Raises ObservedError where it could not, OSError."""
    text = json.dumps(as_json(seen))
    parse_table(text.encode())
    if len(text) >= MOST_BYTES:
        what = f"{path}: the table of {len(seen.launches)} launches has {len(text) >> 20} MiB"
        raise ObservedError(what, f"it may have {MOST_BYTES >> 20} MiB: observe a run with fewer launches")
    write_atomic(path, text + "\n")


def configs(seen: Observation, top: int = TOP, spread: float = SPREAD) -> tuple[LaunchConfig, ...]:
    """Return the launches that represent all: `top` of them, by their share of the kernel's time."""
    return representative(parse_table(json.dumps(as_json(seen)).encode()), top=top, spread=spread)


def key(run: str, signature: str, source: bytes, surroundings: Sequence[str | Mapping[str, str]] = ()) -> str:
    """Hash what an observation depends on, as far as that is known: the command, the kernel's signature and source.

    `surroundings` are the host, the folders and the variables with which the command runs.
    """
    around = json.dumps(list(surroundings), sort_keys=True).encode()
    parts = (run.encode(), " ".join(signature.split()).encode(), source, around)
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


def is_current(path: Path, wanted: str) -> bool:
    """Return whether `path` has an observation with this key. A file that cannot be read is none."""
    try:
        found = json.loads(read_plain(path))
    except (OSError, ValueError, RecursionError):
        return False
    capture = found.get("capture") if isinstance(found, dict) else None
    return isinstance(capture, dict) and bool(wanted) and capture.get("key") == wanted
