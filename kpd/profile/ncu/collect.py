"""Runs Nsight Compute around a process that calls the kernel: the script, and the meaning of its exit."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kpd.hosts.host import JobResult
from kpd.hosts.preflight.counter_trial import TAKEN, TAKEN_MARK
from kpd.hosts.preflight.gpu_checks import FOR_ADMINS, FOR_GUESTS, FOR_TAKEN
from kpd.measure.bench import LaunchFilter
from kpd.measure.jobs import words
from kpd.profile.ncu.metrics import asked
from kpd.profile.ncu.read import DETAILS, RAW, REPORT
from kpd.text.foreign import plain

SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "MemoryWorkloadAnalysis")
"""The sections that NVIDIA's rules need for their advice; together they take 0.7 s more for five launches (H100).

MemoryWorkloadAnalysis_Tables alone would take 4 s.
"""
Depth = Literal["counters", "advice", "full"]
_EXTRA: dict[Depth, tuple[str, ...]] = {
    "counters": (),
    "advice": tuple(word for name in SECTIONS for word in ("--section", name)),
    "full": ("--set", "full"),
}
LARGEST = 64 << 20
"""The most bytes of a report or an exported page; five launches have 0.4 MB, or 6 MB with `--set full`."""
NO_NCU, NO_REPORT = 91, 92

# The clocks are not changed: by default ncu would lock them while it runs. Its lock file lies in TMPDIR; in /tmp it
# would belong to the user who ran ncu first. A metric that this version does not have makes the whole collection fail:
# then only the sections are asked for, which name what each chip has.
_SCRIPT = """
LC_ALL=C; TMPDIR=$PWD/tmp; export LC_ALL TMPDIR; mkdir -p "$TMPDIR"
ncu=${KPD_NCU:-}
for found in "$(command -v ncu)" /usr/local/cuda/bin/ncu \\
    $(ls -d /usr/local/cuda-*/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | sort -rV); do
  if [ -z "$ncu" ] && [ -x "$found" ]; then ncu=$found; fi
done
[ -n "$ncu" ] || exit @NO_NCU@
collect() {
  rm -f out/@REPORT@
  "$ncu" --clock-control none --target-processes all --nvtx @LAUNCHES@ @SECTIONS@ "$@" -f -o out/report \\
    @CALLS@ >ncu.log 2>&1
}
collect @METRICS@
if [ ! -s out/@REPORT@ ] && grep -qi 'metric' ncu.log && ! grep -q ERR_NVGPUCTRPERM ncu.log; then
  mv ncu.log first.log; collect
fi
tail -c 8000 ncu.log
[ -s out/@REPORT@ ] || exit @NO_REPORT@
"""
_EXPORT = """
page() { "$ncu" --import out/@REPORT@ --csv --print-units base --page "$1"; }
page raw >out/@RAW@ 2>/dev/null && page details >out/@DETAILS@ 2>/dev/null || exit @NO_REPORT@
"""


def script(
    calls: Callable[[int], str], arch: str, launches: LaunchFilter, depth: Depth = "advice", export: bool = False
) -> str:
    """Return a shell script that leaves a report in the job's `out/`, for `bench.Counted`.

    Each case is called once. The counters are the same at any depth; "advice" adds what NVIDIA's rules need, and "full"
    everything that ncu has. With `export` the report's tables are written, too, for a daemon that cannot read the
    report itself.
    """
    parts = {
        "@LAUNCHES@": words(_filter(launches)),
        "@SECTIONS@": words(_EXTRA[depth]),
        "@METRICS@": words(("--metrics", ",".join(asked(arch)))),
        "@CALLS@": calls(1),
        "@REPORT@": REPORT,
        "@RAW@": RAW,
        "@DETAILS@": DETAILS,
        "@NO_NCU@": str(NO_NCU),
        "@NO_REPORT@": str(NO_REPORT),
    }
    whole = _SCRIPT + (_EXPORT if export else "")
    return re.sub("@[A-Z_]+@", lambda mark: parts[mark[0]], whole)


def _filter(launches: LaunchFilter) -> tuple[str, ...]:
    marked = ("--profile-from-start", "off") if launches.marked else ()
    named = ("--kernel-name", f"regex:{launches.kernel}") if launches.kernel else ()
    return (*marked, *named, "--launch-count", str(launches.most))


@dataclass(frozen=True, slots=True)
class _Cause:
    mark: str
    words: str
    remedy: str


_CAUSES = (
    _Cause("ERR_NVGPUCTRPERM", "ncu is denied the GPU's counters (ERR_NVGPUCTRPERM)", f"{FOR_ADMINS}; {FOR_GUESTS}"),
    *(_Cause(mark, TAKEN, FOR_TAKEN) for mark in (TAKEN_MARK, "ERR_NVGPUCTR")),
    _Cause("InterprocessLockFailed", "ncu cannot take its lock", "remove the lock file that it names"),
    _Cause("No kernels were profiled", "ncu saw no kernel launch", "see that the harness launches one in every case"),
    _Cause("No CUDA-capable device", "ncu finds no GPU", "run nvidia-smi there"),
    _Cause("driver version is insufficient", "the driver is older than the toolkit", "update the NVIDIA driver"),
)


def refused(ran: JobResult) -> str:
    """Return why there is no report, and what to do about it; empty when there is one."""
    if not ran.rc and not ran.reason:
        return ""
    if ran.excess:
        return f"ncu and the kernel took more than {ran.excess}"
    if ran.reason:
        return f"ncu was cut off ({ran.reason}) after {ran.seconds:.0f} s; [profile] limit_s in task.toml is the limit"
    if ran.rc == NO_NCU:
        return "no ncu: install Nsight Compute, a part of the CUDA toolkit, or give its folder as cuda_home"
    said = ran.stdout.decode(errors="replace")
    for cause in _CAUSES:
        if cause.mark in said:
            return f"{cause.words}: {cause.remedy}"
    rows = [row for row in said.splitlines() if row.strip()]
    row = next((row for row in rows if "==ERROR==" in row), rows[-1] if rows else f"it ended with {ran.rc}")
    return f"ncu leaves no report: {plain(row.removeprefix('==ERROR==').strip())}"
