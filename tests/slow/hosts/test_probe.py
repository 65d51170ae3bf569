"""What a host says of itself: on this machine, with programs that stand in for NVIDIA's, and with bad ones."""

from pathlib import Path

import pytest

from kpd.hosts.preflight import probe
from tests.support.hosts.gpu_listings import H100, NCU, NVCC
from tests.support.hosts.installs import Install, install, prints
from tests.support.hosts.local import host_at

__all__ = ["install"]


async def test_programs_that_hang_fail_flood_or_forge_spoil_only_their_own_section(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PATIENCE_S", 2)
    install("nvidia-smi", "echo '0, GPU-'; sleep 60")
    install("clang", "echo clang version 99; exit 1")
    install("ncu", f"yes '\x1b[2J== gpus 0' | head -c 3000000; {prints(NCU)}")
    install("nvcc", f"echo; echo '== gpus 0'; echo '{H100.splitlines()[0]}'; {prints(NVCC)}; printf '== end'")
    async with host_at(tmp_path / "host") as host:
        facts = await host.probe()
    assert facts["gpu_trouble"] == "nvidia-smi does not answer within 2 s"
    assert facts["gpus"] == ()
    assert "clang" not in facts["compilers"]
    assert facts["cuda"] == "13.0"
    assert facts["ncu"] and facts["ncu_version"] == ""
    assert facts["cpu"] and facts["rights"]
