"""A harness that says what changes between timed calls, for outputs that an exchange of elements leaves as they are."""

from pathlib import Path

import pytest

from tests.support.measure.cuda_driver import SEED, Driver, build

HARNESS = """
#include "kpd_task.h"
enum { X, W, OUT };
static const kpd_case cases[] = {{"500", {500}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = {"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
    b[W] = {"w", KPD_IN, KPD_BF16, 1};
    b[OUT] = {"out", KPD_OUT, KPD_F32, 1};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    float *x = (float *)data[X];
    kpd_fill(rng, d, x, (size_t)c->dims[0]);
    for (long i = 0; i < c->dims[0]; i++) x[i] = x[i] < 0 ? -x[i] : x[i];
    *(uint16_t *)data[W] = 0;
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    want[OUT][0] = kpd_bf16(*(const uint16_t *)data[W]);
    for (long i = 0; i < c->dims[0]; i++) want[OUT][0] += ((const float *)data[X])[i];
}
static void call(const kpd_case *c, void *const *d, cudaStream_t stream) {
    total<<<1, 1, 0, stream>>>((const float *)d[X], (const uint16_t *)d[W], (float *)d[OUT], c->dims[0]);
}
static kpd_change change(const kpd_case *c, kpd_rng *rng) {
    uint64_t bits = kpd_random(rng);
    double value = (double)(bits % 128);
    if (bits >> 63) return {BUFFER, 0, value};
    return {X, (size_t)(bits >> 8) % (size_t)c->dims[0], value};
}
const kpd_task_t kpd_task = {"total", {"n"}, cases, 1, 3, buffers, fill, oracle, call, change};
"""
KERNEL = """
#include <stdint.h>
#include <string.h>
static __global__ void total(const float *x, const uint16_t *w, float *out, long n) {
    uint32_t wide = (uint32_t)*w << 16;
    float sum;
    EARLY
    memcpy(&sum, &wide, sizeof sum);
    for (long i = 0; i < n; i++) sum += x[i];
    *out = sum;
}
"""
EARLY = KERNEL.replace("EARLY", "if (*out == *out) return;")
RIGHT = KERNEL.replace("EARLY", "")


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    folder = tmp_path_factory.mktemp("total")
    return build(folder, harness=HARNESS.replace("BUFFER", "W"), kernel=RIGHT).compiled("early.so", EARLY)


def timed(driver: Driver, candidate: str) -> object:
    return driver.report("rtol=1e-4", "time", "kernel.so", candidate, "a", 4, 20_000)["problem"]


def test_a_sum_that_is_made_anew_each_time_is_right(driver: Driver) -> None:
    assert timed(driver, "kernel.so") is None


def test_a_sum_that_is_kept_once_it_is_there_is_found_out(driver: Driver) -> None:
    problem = timed(driver, "early.so")
    assert isinstance(problem, dict)
    assert (problem["kind"], problem["who"], problem["when"]) == ("wrong", "candidate", "timed outputs")
    assert driver.report("rtol=1e-4", "check", "early.so", 1, 20_000)["problem"] is None


def test_a_harness_that_changes_an_output_is_told_so(tmp_path: Path) -> None:
    driver = build(tmp_path, harness=HARNESS.replace("BUFFER", "OUT"), kernel=RIGHT)
    done = driver.bench("rtol=1e-4", "time", "kernel.so", "kernel.so", "a", 4, 20_000, seed=SEED)
    assert done.returncode == 2
    assert "500: the harness changes what is no element of an input" in done.stderr
