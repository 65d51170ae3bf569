"""What a host is: its system, CPU, compilers and counters, as plain facts and as the card that people see."""

import re
from collections.abc import Mapping
from typing import Any, TypedDict

from kpd.model.nouns import HostCard

LIMIT_S = 20.0
COMPILERS = ("cc", "gcc", "clang")
COUNTERS = ("cycles", "instructions", "cache-misses")

# Sections begin with a line "== name"; every program may be absent.
SCRIPT = f"""
exec 2>&1
echo "== cpu"
if [ -r /proc/cpuinfo ]; then sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1; fi
if [ "$(uname -s)" = Darwin ]; then sysctl -n machdep.cpu.brand_string; fi
for compiler in {" ".join(COMPILERS)}; do
  if command -v $compiler >/dev/null; then echo "== $compiler"; $compiler --version; fi
done
if command -v perf >/dev/null; then echo "== perf"; perf stat -x, -e {",".join(COUNTERS)} true; fi
if [ -r /proc/sys/kernel/perf_event_paranoid ]; then
  echo "== paranoid"; cat /proc/sys/kernel/perf_event_paranoid
fi
"""


class Facts(TypedDict):
    """A host as probed. `cpus` are those that a job may use, `disk_free` is in bytes, `clock` in seconds since 1970."""

    system: str
    release: str
    machine: str
    python: str
    cpu: str
    cpus: list[int]
    pinning: bool
    compilers: dict[str, str]
    perf: bool
    counters: str
    disk_free: int
    clock: float


def facts(helper: Mapping[str, Any], said: str) -> Facts:
    """The helper's own facts and what SCRIPT said, as one."""
    sections = dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", said, re.MULTILINE | re.DOTALL))
    perf, counters = counters_of(str(helper["system"]), sections.get("perf"), sections.get("paranoid", "").strip())
    return Facts(
        system=helper["system"],
        release=helper["release"],
        machine=helper["machine"],
        python=helper["python"],
        cpu=sections.get("cpu", "").strip() or helper["machine"],
        cpus=helper["cpus"],
        pinning=helper["pinning"],
        compilers={name: lines[0] for name in COMPILERS if (lines := sections.get(name, "").strip().splitlines())},
        perf=perf,
        counters=counters,
        disk_free=helper["disk_free"],
        clock=helper["clock"],
    )


def counters_of(system: str, perf: str | None, paranoid: str) -> tuple[bool, str]:
    """Whether `perf stat` counts, and a sentence for people; `perf` is what it printed, None where it is absent."""
    if system != "Linux":
        return False, f"no hardware counters: perf stat does not exist on {system}"
    if perf is None:
        return False, "no hardware counters: perf is not installed"
    rows = [line.split(",") for line in perf.splitlines()]
    counted = [row[2].split(":")[0] for row in rows if len(row) > 2 and row[0].isdigit()]
    if set(counted) >= set(COUNTERS):
        return True, f"perf stat counts {', '.join(counted)}"
    if counted:
        return True, f"perf stat counts only {', '.join(counted)}"
    if "<not supported>" in perf:
        return False, "no hardware counters: perf stat runs, but this machine does not support them"
    return False, f"no hardware counters: perf stat is not permitted (kernel.perf_event_paranoid = {paranoid or '?'})"


def measuring_cpu(facts: Facts) -> int | None:
    """The CPU to pin measurements to: the last one, away from where systems put their interrupts. None on macOS."""
    return facts["cpus"][-1] if facts["pinning"] and facts["cpus"] else None


def host_card(name: str, transport: str, facts: Facts) -> HostCard:
    """The card of a host that answers; `error` says so when it has no compiler."""
    compiler = next((facts["compilers"][name] for name in COMPILERS if name in facts["compilers"]), "")
    return HostCard(
        name=name,
        transport=transport,
        system=f"{facts['system']} {facts['release']} {facts['machine']}",
        device=facts["cpu"],
        cpu=measuring_cpu(facts),
        compiler=compiler,
        counters=facts["counters"],
        error="" if compiler else "no C compiler; install gcc or clang on the host",
    )
