"""Tripwires: flagged when the candidate adds the line, silent about what was there before."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.measure.screen import protected_touched, spliced, tripwires
from kpd.workspace.sections import ProtectedSection
from tests.samples import task_of


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("// ... rest of the kernel unchanged", "elided code"),
        ("// TODO: implement the tail", "unfinished code"),
        ("pthread_create(&t, 0, work, 0);", "starts threads or processes"),
        ("__attribute__((constructor)) void before(void);", "runs code when loaded"),
        ("void *f = dlsym(0, name);", "reaches into its process"),
        ("int clock_gettime(int id, void *at) { return 0; }", "reads or replaces the clock"),
        ('FILE *f = fopen("/tmp/x", "r");', "reaches outside the kernel"),
        ("signal(11, handler);", "ends or hooks a process"),
        ("static const float *last;", "keeps a pointer between calls"),
        ("cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);", "works beside its stream"),
        ("cudaEventRecord(start);", "measures itself"),
        ('asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));', "reads or replaces the clock"),
        ("cudaMallocAsync(&scratch, n, stream);", "takes memory of its own"),
        ("__device__ float kept[1 << 20];", "keeps device memory between calls"),
        ("cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 30);", "changes the device for others"),
        ("#define kpd_task other", "reaches into the harness"),
    ],
)
def test_each_tripwire_names_its_line(line: str, reason: str) -> None:
    before, after = b"void kernel(void) { work(); }\n", f"void kernel(void) {{ work(); }}\n{line}\n".encode()
    assert f"kernel.c:2 {reason}" in tripwires({"kernel.c": before}, {"kernel.c": after})
    assert tripwires({"kernel.c": after}, {"kernel.c": after}) == ()


def test_an_emptied_body_is_flagged() -> None:
    before, after = b"void kernel(int n) { work(n); }", b"void kernel(int n) { }"
    assert tripwires({"kernel.c": before}, {"kernel.c": after}) == ("kernel.c has 1 more empty function bodies",)


def test_an_honest_change_is_silent() -> None:
    before = b"for (int i = 0; i < n; i++) y[i] = x[i];\n"
    after = b"for (int i = 0; i < n; i += 4) for (int j = 0; j < 4; j++) y[i + j] = x[i + j];\n"
    assert tripwires({"kernel.c": before}, {"kernel.c": after}) == ()


def test_an_honest_cuda_kernel_is_silent() -> None:
    after = b"""
__device__ __forceinline__ float square(float x) { return x * x; }
__global__ void __launch_bounds__(256) squares(const float *__restrict__ x, float *__restrict__ y, long n) {
    extern __shared__ float tile[];
    for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += 256L * gridDim.x) y[i] = square(x[i]);
    __syncthreads();
}
void launch(const float *x, float *y, long n, cudaStream_t stream) {
    static const int blocks = 132;
    cudaFuncSetAttribute(squares, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);
    squares<<<blocks, 256, 1 << 16, stream>>>(x, y, n);
}
"""
    assert tripwires({"kernel.cu": b""}, {"kernel.cu": after}) == ()


def test_only_editable_files_may_be_proposed() -> None:
    assert protected_touched(["kernel.c"], {"kernel.c": b"", "harness.c": b"", "../x": b""}) == ("harness.c", "../x")


FILE = b"""\
// ===== KERNEL SECTION =====
int old;
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION =====
int judge;
// ===== END HARNESS SECTION =====
"""


def test_of_a_file_in_sections_only_the_kernel_is_taken(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_bytes(FILE)
    task = replace(task_of(tmp_path, {}, ("one.cu", "more.h")), sectioned="one.cu")
    assert spliced(task, {"more.h": b"x"}) == {"more.h": b"x"}
    assert spliced(task, {"one.cu": b"int new;", "more.h": b"x"}) == {
        "one.cu": FILE.replace(b"old", b"new"), "more.h": b"x",
    }  # fmt: skip
    with pytest.raises(ProtectedSection, match=r"^one\.cu$"):
        spliced(task, {"one.cu": FILE.replace(b"judge", b"friend")})
