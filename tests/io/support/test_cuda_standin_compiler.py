"""The stand-in's command line and messages: those of nvcc, as far as kpd uses them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.measure.nvcc import NO_REAL, REAL, nvcc, real_nvcc, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the CUDA stand-in is for Linux, as CUDA is")

BROKEN = """\
#include <stdint.h>
__global__ void k(float *x) {
    __shared__ float tile[32];
    x[0] = y;
    tile[0] = NULL ? 1 : 2;
    return 1;
}
void host(float *x) {
    k<<<1,
        32>>>(
        x);
    unknown();
}
"""
HEADLINE = re.compile(r"^\S+\(\d+\): error: .*$", re.MULTILINE)


def compiled(compiler: object, source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "kernel.cu").write_text(source)
    assert callable(compiler)
    result = compiler("-arch=sm_90", "-c", "kernel.cu", "-o", "out.o", cwd=folder)
    assert isinstance(result, subprocess.CompletedProcess)
    return result


def test_errors_have_nvccs_shape_and_the_lines_of_the_source(tmp_path: Path) -> None:
    done = compiled(nvcc, BROKEN, tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(
        'kernel.cu(4): error: identifier "y" is undefined\n      x[0] = y;\n             ^\n\nkernel.cu(6): error: '
    )
    assert 'kernel.cu(12): error: identifier "unknown" is undefined\n      unknown();\n      ^\n' in done.stderr
    assert done.stderr.endswith('\n\n3 errors detected in the compilation of "kernel.cu".\n')
    assert not (tmp_path / "out.o").exists()


@pytest.mark.skipif(REAL is None, reason=NO_REAL)
def test_nvcc_says_the_same(tmp_path: Path) -> None:
    ours, theirs = compiled(nvcc, BROKEN, tmp_path), compiled(real_nvcc, BROKEN, tmp_path)
    assert HEADLINE.findall(ours.stderr) == HEADLINE.findall(theirs.stderr) != []
    assert ours.returncode == theirs.returncode
    assert ours.stderr.splitlines()[:3] == theirs.stderr.splitlines()[:3]


WRONG = {
    "an unknown option": (["-c", "-fPIC", "kernel.cu"], "nvcc fatal   : Unknown option '-fPIC'\n"),
    "no input": ([], "nvcc fatal   : No input files specified; use option --help for more information\n"),
    "a strange file": (["kernel.txt"], "nvcc fatal   : Don't know what to do with 'kernel.txt'\n"),
    "a strange device": (
        ["-arch=gpu", "kernel.cu"],
        "nvcc fatal   : Value 'gpu' is not defined for option 'gpu-architecture'\n",
    ),
    "a value left out": (["kernel.cu", "-o"], "nvcc fatal   : '-o': expected an argument\n"),
    "device code": (["-cubin", "kernel.cu"], "nvcc fatal   : the CPU stand-in makes no device code ('-cubin')\n"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_command_line(case: str, tmp_path: Path) -> None:
    arguments, said = WRONG[case]
    done = nvcc(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_a_missing_header_is_the_preprocessors_error(tmp_path: Path) -> None:
    done = compiled(nvcc, '#include "missing.h"\n', tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("kernel.cu:1:10: fatal error: missing.h: No such file or directory\n")


def test_ptx_is_refused(tmp_path: Path) -> None:
    done = compiled(nvcc, '__global__ void k() { asm volatile("bar.sync 1, 64;"); }\n', tmp_path)
    assert done.returncode == 2
    assert done.stderr == 'kernel.cu: error: the CPU stand-in cannot run PTX: "bar.sync 1, 64;"\n'


def test_an_undefined_function_is_the_linkers_error(tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text("void elsewhere();\nint main() { elsewhere(); }\n")
    done = nvcc("main.cu", "-o", "main", cwd=tmp_path)
    assert done.returncode == 1
    assert "undefined reference to `elsewhere()'" in done.stderr


def test_the_version_does_not_pass_for_nvidias(tmp_path: Path) -> None:
    done = nvcc("--version", cwd=tmp_path)
    assert re.search(r"^Cuda compilation tools, release 0\.0, V0\.0\.0$", done.stdout, re.MULTILINE)
    assert "stand-in" in done.stdout


def test_sources_of_three_languages_make_one_program(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "given.h").write_text("#define GIVEN 40\n")
    (tmp_path / "a.c").write_text("int *of_c(void) { static int class = 1; return &class; }\n")
    (tmp_path / "b.cpp").write_text('extern "C" int of_cpp() { auto one = [] { return ONE; }; return one(); }\n')
    (tmp_path / "main.cu").write_text(
        '#include <cstdio>\n#include <vector>\n#include "given.h"\n#ifndef KPD_STANDIN\n#error no\n#endif\n'
        'extern "C" { int *of_c(void); int of_cpp(); }\n'
        "__global__ void k(int *x, int by) { *x += by; }\n"
        "int main() {\n  std::vector<std::vector<std::vector<int>>> unused;\n  int *x, got = 0;\n  cudaMalloc(&x, 4);\n"
        "  cudaMemset(x, 0, 4);\n  k<<<1, 1>>>(x, GIVEN + *of_c() + of_cpp());\n"
        '  cudaMemcpy(&got, x, 4, cudaMemcpyDeviceToHost);\n  printf("%d\\n", got);\n}\n'
    )
    parts = [("a.c", "a.o"), ("b.cpp", "b.o")]
    for source, out in parts:
        assert nvcc("-O3", "-std=c++20", "-DONE=1", "-c", source, "-o", out, cwd=tmp_path).returncode == 0
    flags = ["-O2", "-O3", "-std=c++20", "-arch", "native", "--resource-usage", "-I", "in", "-Xcompiler", "-Wall"]
    built = nvcc(*flags, "main.cu", "a.o", "b.o", "-lm", "-o", "main", cwd=tmp_path)
    assert (built.returncode, built.stderr) == (0, "")
    assert run(tmp_path / "main").stdout == "42\n"
