"""The program that makes mixtures on a GPU is one that NVIDIA's own assembler takes."""

from pathlib import Path

import pytest

from kpd.measure.python.host.gathered import program
from tests.support.measure.nvcc import NO_REAL, REAL, real_nvcc


@pytest.mark.skipif(REAL is None, reason=NO_REAL)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_program_is_assembled(tmp_path: Path, arch: str) -> None:
    (tmp_path / "gather.ptx").write_text(program())
    built = real_nvcc(f"-arch={arch}", "-cubin", "-o", tmp_path / "gather.cubin", tmp_path / "gather.ptx", cwd=tmp_path)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
