"""Probes a host: its system, CPU, GPUs, compilers and counters."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

from kpd.hosts.errors import HostError
from kpd.hosts.preflight import gpus
from kpd.hosts.preflight.gpus import GpuInfo
from kpd.model.hosts import Confinement, Cpus
from kpd.text.foreign import plain

LIMIT_S = 20.0
PATIENCE_S = 15
"""Seconds for a program to answer; nvidia-smi first wakes every GPU of a host when persistence mode is off."""
COMPILERS = ("cc", "gcc", "clang")
COUNTERS = ("cycles", "instructions", "cache-misses")
LOGIND = ("KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers")
"""Settings of systemd-logind: whether it ends processes with a login session, and whose."""
ADMIN = 1 << 21
"""CAP_SYS_ADMIN among the capabilities of a Linux process."""

_SCRIPT = Path(__file__).with_suffix(".sh")


def script(cuda_home: str = "", leases: str = "") -> str:
    """Return the script of the job that probes a host.

    nvcc and ncu in `cuda_home` are preferred to others; `leases` is the folder of locks.
    """
    words = {
        "@HOME@": shlex.quote(cuda_home),
        "@LEASES@": shlex.quote(leases),
        "@COMPILERS@": " ".join(COMPILERS),
        "@COUNTERS@": ",".join(COUNTERS),
        "@QUERY@": gpus.QUERY,
        "@CLOCKS@": gpus.CLOCKS,
        "@LOGIND@": " ".join(LOGIND),
        "@PATIENCE@": str(PATIENCE_S),
    }
    return re.sub("@[A-Z]+@", lambda mark: words[mark[0]], _SCRIPT.read_text())


CpuCounters = Literal["counts", "absent", "denied", "unsupported", "elsewhere"]
"""The result of `perf stat`: "elsewhere" is a system that does not have it."""


class HostFacts(TypedDict):
    """A host as probed.

    `cpus` are those that a job may use, `cores` the groups of CPUs that are threads of one core, where that is known.
    `disk_free` is in bytes, `clock` in seconds since 1970.

    `skew_s` is the host's clock minus ours, `rtt_s` a round trip to its helper, both in seconds. `gpu_trouble` is what
    nvidia-smi said instead of a list, or beside it. `nvcc` and `ncu` are paths, empty without them. `counters_open`
    says whether the NVIDIA driver lets this user's processes read counters, None where it does not say. `rights` is
    everything that this may depend on. `outlives` says whether a process may outlive the login that has started it,
    None outside a session of systemd-logind, or where it does not say.

    `perf` is the result of `perf stat`, `counters` the same for people. `leases` says what is wrong with the folder of
    locks, None where nobody looked. `confinement` is what keeps jobs of candidates to themselves, `disassemblers` the
    programs that show the code of an object, by name.
    """

    system: str
    release: str
    machine: str
    python: str
    cpu: str
    cpus: list[int]
    cores: tuple[tuple[int, ...], ...]
    pinning: bool
    compilers: dict[str, str]
    perf: CpuCounters
    counters: str
    disk_free: int
    clock: float
    skew_s: float
    rtt_s: float
    gpus: tuple[GpuInfo, ...]
    gpu_trouble: str
    driver: str
    nvcc: str
    cuda: str
    ncu: str
    ncu_version: str
    counters_open: bool | None
    rights: str
    outlives: bool | None
    leases: str | None
    confinement: Confinement
    disassemblers: tuple[str, ...]


class ProgramOutput(NamedTuple):
    """What one program printed; `status` is its exit code, or "hangs"."""

    status: str
    text: str


def sections(said: str) -> dict[str, ProgramOutput]:
    """Split the output of `script` into its sections, by their names."""
    found = re.findall(r"^== (\w+) (\w+)\n((?: .*\n|\n)*)", said + "\n", re.MULTILINE)
    return {
        name: ProgramOutput(status, re.sub("^ ", "", text, flags=re.MULTILINE).strip()) for name, status, text in found
    }


def facts(helper: Mapping[str, Any], said: str, skew_s: float = 0.0, rtt_s: float = 0.0) -> HostFacts:
    """Combine the helper's own facts and the output of `script`."""
    found = sections(said)

    def text(name: str) -> str:
        return found[name].text if name in found else ""

    listing = found["perf"].text if "perf" in found else None
    perf, counters = counters_of(helper["system"], listing, plain(text("paranoid"), 8))
    listed, trouble = _gpus(found.get("gpus"))
    listed = gpus.with_clocks(listed, text("clocks"))
    if (lent := helper.get("lent_gpus")) is not None:
        listed = gpus.lent(listed, lent)
    nvcc, cuda = _installed(text("nvcc"))
    ncu, ncu_version = _installed(text("ncu"))
    return HostFacts(
        system=plain(helper["system"]),
        release=plain(helper["release"]),
        machine=plain(helper["machine"]),
        python=plain(helper["python"]),
        cpu=plain(text("cpu"), 80) or plain(helper["machine"]),
        cpus=helper["cpus"],
        cores=tuple(map(_numbers, text("cores").split())),
        pinning=helper["pinning"],
        compilers={
            name: plain(text(name).splitlines()[0]) for name in COMPILERS if text(name) and found[name].status == "0"
        },
        perf=perf,
        counters=plain(counters),
        disk_free=helper["disk_free"],
        clock=helper["clock"],
        skew_s=skew_s,
        rtt_s=rtt_s,
        gpus=listed,
        gpu_trouble=trouble,
        driver=listed[0].driver if listed else "",
        nvcc=nvcc,
        cuda=gpus.cuda_of(cuda),
        ncu=ncu,
        ncu_version=gpus.ncu_of(ncu_version),
        counters_open=_open(text("rights")),
        rights=text("rights"),
        outlives=_outlives(text("logind")),
        leases=plain(text("leases")) if "leases" in found else None,
        confinement=Confinement(**helper["confinement"]),
        disassemblers=tuple(Path(path).name for path in text("disassemblers").splitlines()),
    )


def _gpus(section: ProgramOutput | None) -> tuple[tuple[GpuInfo, ...], str]:
    """Return the GPUs, and what is wrong with them or with nvidia-smi. None stands for a host without nvidia-smi."""
    if section is None:
        return (), ""
    if section.status == "hangs":
        return (), f"nvidia-smi does not answer within {PATIENCE_S} s"
    listed, other = gpus.gpus_of(section.text)
    if not listed and not other:
        other = f"nvidia-smi ended with {section.status} and said nothing"
    return listed, other


def _installed(said: str) -> tuple[str, str]:
    """Split a section into a program's path, which is the first line, and what the program says of itself."""
    path, _, rest = said.partition("\n")
    return (path, rest) if path.startswith("/") and path.isprintable() else ("", "")


def _open(rights: str) -> bool | None:
    """Return whether the driver lets us read the GPU's counters; None where it does not say.

    It may keep them for processes with CAP_SYS_ADMIN.
    """
    known = dict(re.findall(r"^(uid|caps|admin_only) ([0-9a-f]{1,16})$", rights, re.MULTILINE))
    if "admin_only" not in known:
        return None
    admin = bool(int(known["caps"], 16) & ADMIN) if "caps" in known else known.get("uid") == "0"
    return admin or known["admin_only"] == "0"


def _outlives(said: str) -> bool | None:
    """Return whether this user's processes may outlive their login; None where logind does not say.

    `said` has the user's name, then logind's settings in D-Bus notation.
    """
    found = re.fullmatch(r"(?P<user>\S+)\nb (?P<kills>true|false)\nas \d+(?P<only>.*)\nas \d+(?P<spared>.*)", said)
    if not found:
        return None
    only, spared = (re.findall('"([^"]*)"', found[names]) for names in ("only", "spared"))
    return found["kills"] == "false" or found["user"] in spared or (bool(only) and found["user"] not in only)


def counters_of(system: str, perf: str | None, paranoid: str) -> tuple[CpuCounters, str]:
    """Return whether `perf stat` works, and a sentence for people.

    `perf` is what it printed, None where it is not installed.
    """
    if system != "Linux":
        return "elsewhere", f"no hardware counters: perf stat does not exist on {system}"
    if perf is None:
        return "absent", "no hardware counters: perf is not installed"
    rows = [line.split(",") for line in perf.splitlines()]
    counted = [row[2].split(":")[0] for row in rows if len(row) > 2 and row[0].isdigit()]
    if set(counted) >= set(COUNTERS):
        return "counts", f"perf stat counts {', '.join(counted)}"
    if counted:
        return "counts", f"perf stat counts only {', '.join(counted)}"
    if "<not supported>" in perf:
        return "unsupported", "no hardware counters: perf stat runs, but this machine does not support them"
    setting = f"kernel.perf_event_paranoid = {paranoid or '?'}"
    return "denied", f"no hardware counters: perf stat is not permitted ({setting})"


def _numbers(said: str) -> tuple[int, ...]:
    """Parse the kernel's list of CPUs: `0-2,8` is 0, 1, 2 and 8. Empty for a text that is no list."""
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", said):
        return ()
    ends = ([int(end) for end in part.split("-")] for part in said.split(","))
    return tuple(cpu for first, *last in ends for cpu in range(first, (last or [first])[0] + 1))


def measuring_cpu(facts: HostFacts) -> int | None:
    """Return the CPU to pin measurements to; None on macOS, which cannot pin.

    It is the last one, away from those that usually handle interrupts.
    """
    return facts["cpus"][-1] if facts["pinning"] and facts["cpus"] else None


def command_cpus(facts: HostFacts, cpus: Cpus) -> tuple[int, ...]:
    """Return the CPUs for a command that needs so many: the last ones; empty, which means any, where it needs all.

    It is empty on macOS, too. Raises HostError where the host has fewer.
    """
    if not isinstance(cpus, int) or not facts["pinning"]:
        return ()
    if cpus > len(facts["cpus"]):
        found = f"the task needs {cpus} CPUs, and its jobs may use {len(facts['cpus'])} here"
        raise HostError("host", found, "lower cpus in [need] of task.toml, or choose another host")
    return tuple(facts["cpus"][-cpus:])


GPU_CPUS = 2
"""CPUs that timing on a GPU keeps busy: one has the process that is timed, one the next, which starts meanwhile."""


def spare_cpus(facts: HostFacts) -> tuple[int, ...]:
    """Return the CPUs for work beside a measurement; empty where there are none, or where jobs cannot be pinned.

    The core of the measuring CPU is left free with all its threads; and so are GPU_CPUS for each GPU, as long as half
    of all CPUs remain.
    """
    timed = measuring_cpu(facts)
    if timed is None:
        return ()
    kept = {timed, *next((core for core in facts["cores"] if timed in core), ())}
    busy = min(GPU_CPUS * len(facts["gpus"]), len(facts["cpus"]) // 2)
    kept |= set(facts["cpus"][len(facts["cpus"]) - busy :])
    return tuple(cpu for cpu in facts["cpus"] if cpu not in kept)
