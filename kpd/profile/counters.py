"""Reads hardware counters with `perf stat` around a process that calls the candidate repeatedly.

That process also loads the kernel and makes its inputs. So two processes are counted that differ only in how often they
call the kernel, and what the longer one has more of belongs to the calls.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping

EVENTS = ("cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses", "task-clock")
"""Six hardware events, as most processors can count them at once, and the time that the CPU ran."""

WAYS: dict[str, tuple[str, ...]] = {
    "ipc": ("instructions", "cycles"),
    "clock_ghz": ("cycles", "task-clock"),
    "branch_miss_pct": ("branch-misses", "branches"),
    "branch_mpki": ("branch-misses", "instructions"),
    "cache_miss_pct": ("cache-misses", "cache-references"),
    "cache_mpki": ("cache-misses", "instructions"),
}
"""Each metric as the ratio of two events."""

_SCALE = {"branch_miss_pct": 100, "cache_miss_pct": 100, "branch_mpki": 1000, "cache_mpki": 1000, "clock_ghz": 1e-6}
_SECTION = re.compile(r"^== (\w+)$", re.MULTILINE)
_MARGIN = 0.2
"""A difference of less than this share of the shorter process's count is noise."""


FEW_CALLS, MANY_CALLS = 10, 310
"""The calls of every case in the two processes: they take milliseconds, and tens of milliseconds more."""


def script(calls: Callable[[int], str]) -> str:
    """Return a shell script that prints the counters of two processes, and the CPU's vector features.

    It is for `bench.Counted`. Only user code is counted: everybody may do that at perf_event_paranoid 2, the usual
    setting.
    """
    short, long = calls(FEW_CALLS), calls(MANY_CALLS)
    events = ",".join(f"{event}:u" for event in EVENTS[:-1]) + f",{EVENTS[-1]}"
    stat = f"LC_ALL=C perf stat -x, -e {events} -o"
    return (
        "echo '== cpu'\n"
        "grep -m1 -iE '^(flags|features)' /proc/cpuinfo 2>/dev/null ||"
        " sysctl hw.optional.neon machdep.cpu.features machdep.cpu.leaf7_features 2>/dev/null\n"
        "command -v perf >/dev/null || { echo 'perf is not installed on this host' >&2; exit 0; }\n"
        f"{stat} short.csv {short} >short.log 2>&1 || {{ tail -n 3 short.log >&2; exit 0; }}\n"
        f"{stat} long.csv {long} >long.log 2>&1 || {{ tail -n 3 long.log >&2; exit 0; }}\n"
        "echo '== short'; cat short.csv; echo '== long'; cat long.csv\n"
    )


def read(stdout: str, stderr: str = "") -> tuple[dict[str, float], dict[str, str]]:
    """Return metrics from what `script` printed, and the reason for each metric that is missing."""
    sections = dict(_sections(stdout))
    metrics, missing = {}, {}
    if (bits := vector_bits(sections.get("cpu", ""))) is not None:
        metrics["machine_vector_bits"] = float(bits)
    else:
        missing["machine_vector_bits"] = "the system does not say which vectors its CPU has"
    if "long" not in sections:
        printable = "".join(char if char.isprintable() else " " for char in stderr)
        reason = " ".join(printable.split())[:300] or "perf stat printed nothing"
        return metrics, missing | dict.fromkeys(WAYS, reason)
    short, long = parse(sections["short"]), parse(sections["long"])
    for name, (above, below) in WAYS.items():
        top, bottom = _more(short, long, above), _more(short, long, below)
        if isinstance(top, str):
            missing[name] = top
        elif isinstance(bottom, str):
            missing[name] = bottom
        elif bottom <= _MARGIN * float(short[below]):
            missing[name] = f"{below}: too few in the calls to tell them from the rest of the process"
        else:
            metrics[name] = _SCALE.get(name, 1) * top / bottom
    return metrics, missing


def parse(text: str) -> dict[str, float | str]:
    """Parse the output of `perf stat -x,` or `perf stat -j`: each event with its count, or the reason for having none.

    Events are named without modifiers; the counts of a hybrid CPU's kinds of cores are added up.
    """
    counts: dict[str, float | str] = {}
    for value, event in _rows(text):
        name = re.sub(r"^\w+/([\w-]+)/\w*$", r"\1", event).split(":")[0]
        count = _count(value)
        known = counts.get(name)
        if isinstance(count, str):
            counts.setdefault(name, count)
        else:
            counts[name] = count + (known if isinstance(known, float) else 0.0)
    return counts


def vector_bits(cpu: str) -> int | None:
    """Find the widest vector, in bits, in the CPU's list of features (`/proc/cpuinfo`, sysctl); None without one."""
    words = set(re.findall(r"\w+", cpu.lower()))
    for bits, names in ((512, {"avx512f"}), (256, {"avx2", "avx"}), (128, {"sse2", "asimd", "neon"})):
        if words & names:
            return bits
    return None


def _sections(stdout: str) -> Iterator[tuple[str, str]]:
    parts = _SECTION.split(stdout)
    return zip(parts[1::2], parts[2::2], strict=True)


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield the value and the event of each line that has both."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "counter-value" in row and "event" in row:
                yield str(row["counter-value"]), str(row["event"])
        elif (fields := line.split(","))[0] and len(fields) > 2 and not line.startswith("#"):
            yield fields[0], fields[2]


def _count(value: str) -> float | str:
    if value.startswith("<"):
        word = value.strip("<>")
        if word == "not supported":
            return "not supported by this CPU, or by the virtual machine it is"
        return "not counted: no counter was free, or the process was too short" if word == "not counted" else word
    try:
        count = float(value)
    except ValueError:
        return f"perf stat wrote {value[:40]!r}"
    return count if math.isfinite(count) else f"perf stat wrote {value[:40]!r}"


def _more(short: Mapping[str, float | str], long: Mapping[str, float | str], event: str) -> float | str:
    """Compute how much more of `event` the longer process counted, or return why that is not known."""
    before, after = (counts.get(event, "perf stat did not count it") for counts in (short, long))
    if isinstance(after, str) or isinstance(before, str):
        return f"{event}: {after if isinstance(after, str) else before}"
    return max(0.0, after - before)
