"""Checks what works on a host, subject by subject, with remedies."""

import shlex

from kpd.hosts.helper.lock import SHARED
from kpd.hosts.preflight import gpu_checks
from kpd.hosts.preflight.counter_trial import CounterTrial
from kpd.hosts.preflight.probe import COMPILERS, HostFacts
from kpd.model.hosts import Check
from kpd.text.confinement import holds, lacks, means
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.transports import is_here

LEAST_DISK = 1 << 30
MOST_SKEW_S = 2.0
INSTALL = "sudo apt install {0}, or sudo dnf install {0}"


def checks(facts: HostFacts, config: HostConfig, tried: CounterTrial | None = None) -> tuple[Check, ...]:
    """Check each subject. `tried` is the result of a real run of ncu, if there was one."""
    found = [
        _link(facts, config),
        Check("python", "ok", facts["python"]),
        _disk(facts),
        _clock(facts),
        _compiler(facts),
        _disassembler(facts),
        _sandbox(facts),
        gpu_checks.gpu(facts, config),
        gpu_checks.nvcc(facts, config),
        gpu_checks.ncu(facts),
        _cpu_counters(facts),
        gpu_checks.counters(facts, tried),
    ]
    return *found, *_logout(facts, config), *_leases(facts, config)


def _link(facts: HostFacts, config: HostConfig) -> Check:
    to = f" to {config.address}" if config.address else ""
    where = "this machine" if is_here(config.transport) else config.transport + to
    return Check("link", "ok", f"{where}, {facts['rtt_s'] * 1000:.1f} ms there and back")


def _disk(facts: HostFacts) -> Check:
    free = f"{facts['disk_free'] / (1 << 30):.1f} GiB free"
    if facts["disk_free"] >= LEAST_DISK:
        return Check("disk", "ok", free)
    return Check("disk", "bad", free, "free at least 1 GiB where kpd keeps its jobs, or give another folder as root")


def _clock(facts: HostFacts) -> Check:
    skew = facts["skew_s"]
    if abs(skew) <= MOST_SKEW_S + facts["rtt_s"] / 2:
        return Check("clock", "ok", "agrees with this machine's")
    found = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's: its logs have other times"
    return Check("clock", "bad", found, "sudo timedatectl set-ntp true, there or here; measurements are not affected")


def _compiler(facts: HostFacts) -> Check:
    version = compiler_of(facts)
    if version:
        return Check("compiler", "ok", version)
    remedy = "xcode-select --install" if facts["system"] == "Darwin" else INSTALL.format("gcc")
    return Check("compiler", "bad", "no gcc, clang or cc that says its version", remedy)


def _disassembler(facts: HostFacts) -> Check:
    found = facts["disassemblers"]
    if not {"objdump", "llvm-objdump"} & set(found):
        if facts["system"] == "Darwin":  # objects of macOS are not looked at
            return Check("disassembler", "off", "objects are not inspected on macOS: nothing is flagged")
        missing = "no objdump: nobody sees what instructions an object has, and every winner is flagged"
        return Check("disassembler", "bad", missing, INSTALL.format("binutils"))
    if facts["gpus"] and "cuobjdump" not in found:
        missing = "no cuobjdump: nobody sees what instructions a GPU's kernel has, and every winner there is flagged"
        return Check("disassembler", "bad", missing, "install cuda-cuobjdump, a part of the CUDA toolkit")
    return Check("disassembler", "ok", ", ".join(found))


def _sandbox(facts: HostFacts) -> Check:
    has = facts["confinement"]
    found = "; ".join((means(has), *holds(has), *(f"but {what}" for what in lacks(has))))
    if has.confined and has.filtered:
        return Check("sandbox", "ok", found)
    if facts["system"] != "Linux":
        return Check("sandbox", "off", found)  # nothing can be done about it
    remedy = f"{INSTALL.format('bubblewrap')}, or boot Linux 6.12 or later with landlock among lsm=; if neither can be"
    remedy += ", give its address as that of a user of its own (jobs@host)"
    return Check("sandbox", "bad", found, remedy if not has.confined else "a kernel with CONFIG_SECCOMP_FILTER")


def _cpu_counters(facts: HostFacts) -> Check:
    name, found = "cpu counters", facts["counters"]
    if facts["perf"] == "counts":
        return Check(name, "ok", found)
    if facts["gpus"]:
        return Check(name, "off", f"{found}; kernels on a GPU do not need them")
    if facts["perf"] == "absent":
        return Check(name, "bad", found, "sudo apt install linux-perf (Ubuntu: linux-tools-$(uname -r)), or dnf: perf")
    if facts["perf"] == "denied":
        remedy = "sudo sysctl kernel.perf_event_paranoid=2; in a container also --cap-add PERFMON"
        return Check(name, "bad", found, remedy)
    return Check(name, "off", found)  # nothing can be done about it


def _logout(facts: HostFacts, config: HostConfig) -> tuple[Check, ...]:
    if is_here(config.transport) or facts["outlives"] is None:
        return ()
    if facts["outlives"]:
        return (Check("logout", "ok", "jobs go on without a connection"),)
    found = "systemd-logind ends jobs with the connection that has started them (KillUserProcesses=yes)"
    remedy = "set KillUserProcesses=no in /etc/systemd/logind.conf there, then sudo systemctl restart systemd-logind"
    return (Check("logout", "bad", found, remedy),)


def _leases(facts: HostFacts, config: HostConfig) -> tuple[Check, ...]:
    wrong = facts["leases"]
    if wrong is None:
        return ()
    if not wrong:
        if not config.enter:
            return (Check("leases", "ok", config.leases),)
        found = f"{config.leases} is the container's: daemons outside see its leases only if it is mounted there"
        return (Check("leases", "off", found, f"start the container with -v {config.leases}:{config.leases}"),)
    remedy = f"sudo install -d -m 1777 {shlex.quote(config.leases)}, or give another folder as leases in config.toml"
    if config.leases == str(SHARED):
        found = f"{config.leases} {wrong}: this user's own leases are used, which other users do not see"
        return (Check("leases", "off", found, remedy),)
    return (Check("leases", "bad", f"{config.leases} {wrong}", remedy),)


def compiler_of(facts: HostFacts) -> str:
    """Return the first line that the first compiler printed about its version; empty without a compiler."""
    return next((facts["compilers"][name] for name in COMPILERS if name in facts["compilers"]), "")
