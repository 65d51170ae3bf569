"""A machine whose compiler builds a candidate."""

from kpd.hosts.preflight.probe import HostFacts


def machine(machine: str = "x86_64", system: str = "Linux", **compilers: str) -> HostFacts:
    return HostFacts(
        system=system, release="", machine=machine, python="", cpu="", cpus=[], pinning=False, compilers=compilers,
        perf="absent", counters="", disk_free=0, clock=0.0,
    )  # fmt: skip
