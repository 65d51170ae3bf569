"""A host's preflight: its devices, what works on it and what does not, and what a person can do about that."""

import shlex
from dataclasses import replace

from kpd.hosts import gpu_checks
from kpd.hosts.errors import REMEDIES, HostError, UnknownHostKey
from kpd.hosts.gpus import line, usable
from kpd.hosts.probe import COMPILERS, Facts, measuring_cpu
from kpd.hosts.trial import Tried
from kpd.model.nouns import Check, Device, HostCard
from kpd.workspace.config import LOCAL, HostConfig

LEAST_DISK = 1 << 30
MOST_SKEW_S = 2.0
INSTALL = "sudo apt install {0}, or sudo dnf install {0}"


def devices(facts: Facts, config: HostConfig) -> tuple[Device, ...]:
    """The CPU first, then the GPUs that `config` chooses. A GPU that is split into MIG instances is none."""
    cpu = Device("cpu", "cpu", facts["cpu"], facts["machine"])
    gpus = usable(facts["gpus"], config.gpus)
    return cpu, *(Device(gpu.uuid, "gpu", gpu.name, gpu.arch, gpu.pci, gpu.memory_mib) for gpu in gpus)


def checks(facts: Facts, config: HostConfig, tried: Tried | None = None) -> tuple[Check, ...]:
    """Each subject in a line. `tried` is what a real run of ncu said, if there was one."""
    found = [
        _link(facts, config),
        Check("python", "ok", facts["python"]),
        _disk(facts),
        _clock(facts),
        _compiler(facts),
        gpu_checks.gpu(facts, config),
        gpu_checks.nvcc(facts, config),
        gpu_checks.ncu(facts),
        _cpu_counters(facts),
        gpu_checks.counters(facts, tried),
    ]
    return *found, *_leases(facts, config)


def _link(facts: Facts, config: HostConfig) -> Check:
    where = "this machine" if config.transport == LOCAL else f"{config.transport} to {config.address}"
    return Check("link", "ok", f"{where}, {facts['rtt_s'] * 1000:.1f} ms there and back")


def _disk(facts: Facts) -> Check:
    free = f"{facts['disk_free'] / (1 << 30):.1f} GiB free"
    if facts["disk_free"] >= LEAST_DISK:
        return Check("disk", "ok", free)
    return Check("disk", "bad", free, "free at least 1 GiB where kpd keeps its jobs, or give another folder as root")


def _clock(facts: Facts) -> Check:
    skew = facts["skew_s"]
    if abs(skew) <= MOST_SKEW_S + facts["rtt_s"] / 2:
        return Check("clock", "ok", "agrees with this machine's")
    found = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's: its logs bear other times"
    return Check("clock", "bad", found, "sudo timedatectl set-ntp true, there or here; measurements do not suffer")


def _compiler(facts: Facts) -> Check:
    version = compiler_of(facts)
    if version:
        return Check("compiler", "ok", version)
    remedy = "xcode-select --install" if facts["system"] == "Darwin" else INSTALL.format("gcc")
    return Check("compiler", "bad", "no gcc, clang or cc that says its version", remedy)


def _cpu_counters(facts: Facts) -> Check:
    name, found = "cpu counters", facts["counters"]
    if facts["perf"]:
        return Check(name, "ok", found)
    if "not installed" in found:
        return Check(name, "bad", found, "sudo apt install linux-perf (Ubuntu: linux-tools-$(uname -r)), or dnf: perf")
    if "not permitted" in found:
        remedy = "sudo sysctl kernel.perf_event_paranoid=2; in a container also --cap-add PERFMON"
        return Check(name, "bad", found, remedy)
    return Check(name, "off", found)  # there is nothing that one could do


def _leases(facts: Facts, config: HostConfig) -> tuple[Check, ...]:
    wrong = facts["leases"]
    if wrong is None:
        return ()
    if not wrong:
        return (Check("leases", "ok", config.leases),)
    remedy = f"sudo install -d -m 1777 {shlex.quote(config.leases)}, or give another folder as leases in config.toml"
    return (Check("leases", "bad", f"{config.leases} {wrong}", remedy),)


def compiler_of(facts: Facts) -> str:
    """The first compiler's own first line; empty without one."""
    return next((facts["compilers"][name] for name in COMPILERS if name in facts["compilers"]), "")


def host_card(name: str, config: HostConfig, facts: Facts, tried: Tried | None = None) -> HostCard:
    """The card of a host that answers. What kpd has measured of it is the caller's to add."""
    compiler = compiler_of(facts)
    return HostCard(
        name=name,
        transport=config.transport,
        system=f"{facts['system']} {facts['release']} {facts['machine']}",
        device=facts["cpu"],
        cpu=measuring_cpu(facts),
        compiler=compiler,
        counters=facts["counters"],
        error="" if compiler else f"no C compiler; {REMEDIES['no_compiler']}",
        address=config.address,
        rtt_ms=round(facts["rtt_s"] * 1000, 3),
        devices=devices(facts, config),
        checks=checks(facts, config, tried),
    )


def down_card(name: str, config: HostConfig, error: HostError, known: HostCard | None = None) -> HostCard:
    """The card of a host that cannot be reached; what was known of it stays, so that people see what is missing."""
    said = line(error.message.removeprefix(f"{name}: "))
    offered = error.offered.fingerprint if isinstance(error, UnknownHostKey) else ""
    remedy = f"compare {offered} with the host's own, then kpd hosts trust {name}" if offered else line(error.remedy)
    return replace(
        known or HostCard(name, config.transport),
        transport=config.transport,
        link="down",
        error=f"{said}; {remedy}",
        address=config.address,
        trouble=error.kind,
        offered=offered,
        rtt_ms=None,
        checks=(Check("link", "bad", said, remedy),),
    )
