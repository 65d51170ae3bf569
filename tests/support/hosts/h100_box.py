"""A host with an H100 on which all is well, as its probe tells it."""

from typing import Any

from kpd.hosts.preflight import gpus, probe
from kpd.hosts.preflight.counter_trial import CounterTrial
from kpd.hosts.preflight.probe import HostFacts
from kpd.workspace.host_tables import HostConfig
from tests.support.hosts.gpu_listings import H100
from tests.support.hosts.installs import HELPER

BOTH, _ = gpus.gpus_of(H100.replace("Enabled, Enabled", "Enabled, Disabled"))
SSH = HostConfig(transport="ssh", address="me@box")
SAID = "== cpu 0\n AMD EPYC 9554\n\n== gcc 0\n gcc 12\n\n== rights 0\n uid 1000\n caps 0\n admin_only 1\n boot b\n\n"
PERMITTED = CounterTrial("permitted", "ncu reads the counters")


def facts(**more: Any) -> HostFacts:
    """An H100 box on which all is well, but for what `more` says."""
    found: dict[str, Any] = {
        **probe.facts({**HELPER, "disk_free": 200 << 30}, SAID, 0.1, 0.012),
        "gpus": BOTH, "driver": "580.95.05", "nvcc": "/usr/local/cuda/bin/nvcc", "cuda": "13.0",
        "ncu": "/usr/local/cuda/bin/ncu", "ncu_version": "2025.3.1.0", "outlives": True, "leases": "", "perf": "counts",
        "counters": "perf stat counts cycles", "disassemblers": ("objdump", "cuobjdump"), **more,
    }  # fmt: skip
    return found  # type: ignore[return-value]
