"""Builds a host's card: its properties, devices and checks, also when it does not answer."""

from collections.abc import Mapping
from dataclasses import replace

from kpd.hosts.errors import LOST, REMEDIES, HostError, UnknownHostKey
from kpd.hosts.preflight.checks import checks, compiler_of
from kpd.hosts.preflight.counter_trial import CounterTrial
from kpd.hosts.preflight.gpus import usable
from kpd.hosts.preflight.probe import HostFacts, measuring_cpu
from kpd.model.hosts import Check, Device, HostCard, Telemetry
from kpd.text.foreign import plain
from kpd.workspace.host_tables import LOCAL, HostConfig
from kpd.workspace.transports import is_here


def devices(facts: HostFacts, config: HostConfig) -> tuple[Device, ...]:
    """Return the CPU first, then the GPUs that `config` chooses. A GPU that is split into MIG instances is left out.

    A host on this machine other than `local` has no CPU of its own: host `local` has it already.
    """
    cpu = Device("cpu", "cpu", facts["cpu"], facts["machine"])
    gpus = usable(facts["gpus"], config.gpus)
    found = (Device(gpu.uuid, "gpu", gpu.name, gpu.arch, gpu.pci, gpu.memory_mib, clocks=gpu.clocks) for gpu in gpus)
    again = config.transport != LOCAL and is_here(config.transport)
    return tuple(found) if again else (cpu, *found)


def host_card(
    name: str,
    config: HostConfig,
    facts: HostFacts,
    tried: CounterTrial | None = None,
    seen: Mapping[str, Telemetry] | None = None,
) -> HostCard:
    """Build the card of a host that answers, with the telemetry `seen` of its devices.

    The caller adds what kpd has measured of it.
    """
    known = seen or {}
    compiler = compiler_of(facts)
    return HostCard(
        name=name,
        transport=config.transport,
        system=f"{facts['system']} {facts['release']} {facts['machine']}",
        device=facts["cpu"],
        cpu=measuring_cpu(facts),
        compiler=compiler,
        counters=facts["counters"],
        driver=facts["driver"],
        cuda=facts["cuda"],
        confinement=facts["confinement"],
        error="" if compiler else f"no C compiler; {REMEDIES['no_compiler']}",
        address=config.address,
        rtt_ms=round(facts["rtt_s"] * 1000, 3),
        devices=tuple(replace(one, telemetry=known.get(one.id)) for one in devices(facts, config)),
        checks=checks(facts, config, tried),
        table=config.table,
        builds=config.builds,
    )


def down_card(name: str, config: HostConfig, error: HostError, known: HostCard | None = None) -> HostCard:
    """Build the card of a host that cannot be reached.

    What was `known` of it stays, so that people see what is missing.
    """
    said = plain(error.message.removeprefix(f"{name}: "))
    offered = error.offered.fingerprint if isinstance(error, UnknownHostKey) else ""
    remedy = f"compare {offered} with the host's own, then kpd hosts trust {name}" if offered else plain(error.remedy)
    return replace(
        known or HostCard(name, config.transport),
        transport=config.transport,
        link="down",
        error=f"{said}; {remedy}",
        address=config.address,
        trouble=error.kind,
        offered=offered,
        stuck=error.kind not in LOST,
        rtt_ms=None,
        table=config.table,
        checks=(Check("link", "off" if error.kind in ("pending", "released") else "bad", said, remedy),),
    )
