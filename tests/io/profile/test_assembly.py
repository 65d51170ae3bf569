"""What real compilers wrote for small kernels, and what kpd reads from it."""

import shutil
import subprocess
from pathlib import Path

from kpd.profile import assembly
from tests.support.patience import PATIENCE_S


def test_the_compiler_of_this_machine_is_read(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler, "kpd needs a C compiler, and so do its tests"
    source = tmp_path / "kernel.c"
    source.write_text(
        "void kernel(const float *restrict x, float *restrict y, long n) {\n"
        "    for (long i = 0; i < n; i++) y[i] = x[i] * x[i] + 1.0f;\n}\n"
    )
    command = [compiler, "-O3", "-S", str(source), "-o", str(tmp_path / "kernel.s")]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    metrics, missing = assembly.read((tmp_path / "kernel.s").read_text())
    assert missing == {}
    assert metrics["hot_vector_pct"] == 100
    assert metrics["hot_vector_bits"] >= 128
