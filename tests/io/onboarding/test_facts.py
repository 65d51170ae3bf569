"""What can be told of a kernel without a model: its source made fit, its signature, its scalars, its geometry."""

import subprocess
from pathlib import Path

from kpd.onboarding.preprocess import standalone
from tests.support.measure.cuda_measured import needs_nvcc


@needs_nvcc
def test_nvcc_takes_what_was_made_fit(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(standalone("""
__attribute__((__constant__)) float t[4];
extern __constant__ float u[4];
__attribute__((__device__, artificial)) float f(float x) { return x * t[1] + u[2]; }
__attribute__((__global__)) __attribute__((hot, target("avx2"))) void k(float *o) {
    __attribute__((__shared__)) float s[4];
    s[threadIdx.x] = f(o[0]);
    o[1] = s[0];
}
""")[0])  # fmt: skip
    said = subprocess.run(["nvcc", "-arch=sm_80", "-c", str(source), "-o", "/dev/null"], capture_output=True, text=True)
    assert (said.returncode, said.stderr) == (0, "")
