"""Buffers that a CUDA kernel changes in place, with the stand-in for nvcc: restored before each call."""

import pytest

from tests.support.measure.cuda_driver import Driver, build

HARNESS = """
#include "kpd_task.h"
enum { X, SUM };
static const kpd_case cases[] = {{"2000", {2000}, KPD_CHECK_AND_TIME, {8}, {256}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = {"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
    b[SUM] = {"sum", KPD_INOUT, KPD_F32, (size_t)c->dims[0]};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)c->dims[0]);
    kpd_fill(rng, d, data[SUM], (size_t)c->dims[0]);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *x = (const float *)data[X], *sum = (const float *)data[SUM];
    for (long i = 0; i < c->dims[0]; i++) want[SUM][i] = (double)x[i] + sum[i];
}
static void call(const kpd_case *c, void *const *d, cudaStream_t stream) {
    add(kpd_dim3(c->grid), kpd_dim3(c->block), stream, (const float *)d[X], (float *)d[SUM], (int)c->dims[0]);
}
const kpd_task_t kpd_task = {"add", {"n"}, cases, 1, 2, buffers, fill, oracle, call};
"""
KERNEL = """
#include <string.h>
extern "C" { volatile char fault[24] = "FAULT:................."; }
static __global__ void added(const float *x, float *sum, int n, float times) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) sum[i] += times * x[i];
}
static void add(dim3 grid, dim3 block, cudaStream_t stream, const float *x, float *sum, int n) {
    static int calls;
    float times = fault[6] == 'w' || (fault[6] == 'l' && ++calls > 10) ? 2.0f : 1.0f;
    added<<<grid, block, 0, stream>>>(x, sum, n, times);
}
"""


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("in_place"), harness=HARNESS, kernel=KERNEL)


def test_what_a_kernel_changes_in_place_is_restored_before_each_call(driver: Driver) -> None:
    assert driver.check()["problem"] is None
    timed = driver.time()
    assert timed["problem"] is None
    case = timed["cases"]["2000"]
    assert len(case["a_ns"]) == len(case["b_ns"])
    assert "warm" not in case, "one set of buffers cannot be used again and again"


def test_a_kernel_that_changes_it_otherwise_is_found_out(driver: Driver) -> None:
    assert driver.check("wrong")["problem"]["kind"] == "wrong"
    problem = driver.time("late")["problem"]
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "timed outputs")
