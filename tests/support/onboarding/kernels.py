"""A production kernel with its host's code and observed launches, and harness sections for it: a good and a bad one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARAMS = """\
#pragma once
namespace prover {
constexpr int kWidth = 32, kRows = 8;
struct Bias { float add; };
}
"""
KERNEL = """\
#include <math.h>
#include "params.cuh"

namespace prover {
#define THREADS (kWidth * kRows)

__attribute__((device)) inline float biased(float x, Bias bias) { return x + bias.add; }

__global__ void __launch_bounds__(THREADS)
row_scale(const float *__restrict__ in, float *__restrict__ out, int height, int width, float factor, Bias bias) {
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i >= height) return;
    for (int j = 0; j < width; ++j) out[(long)j * height + i] = biased(in[(long)j * height + i] * factor, bias);
}
}  // namespace prover
"""
WRAPPER = """\
#include "params.cuh"

namespace prover {
__global__ void row_scale(const float *, float *, int, int, float, Bias);

int scale_rows(const float *in, float *out, int height, int width, float factor, cudaStream_t stream) {
    const dim3 block(kWidth, kRows);  // one thread a row
    const dim3 grid((height + block.x * block.y - 1) / (block.x * block.y));
    row_scale<<<grid, block, 0, stream>>>(
        in, out, height, width, factor, Bias{1.0f});
    return cudaGetLastError();
}
}
"""
LAUNCHES: list[dict[str, Any]] = [
    *({"grid_x": 128, "block_x": 32, "height": 32768, "width": 64, "factor": 2.0} for _ in range(3)),
    {"grid_x": 4, "block_x": 32, "height": 1000, "width": 16, "factor": 0.5},
]
GOOD = """\
#include "kpd_task.h"

enum { IN, OUT, BUFFERS };

static const kpd_case cases[] = {
    {"top1", {32768, 64}, KPD_CHECK_AND_TIME, {128}, {32, 8}},
    {"top2", {1000, 16}, KPD_CHECK_AND_TIME, {4}, {32, 8}},
    {"one", {1, 1}, KPD_CHECK_ONLY, {1}, {32, 8}},
    {"odd", {257, 3}, KPD_CHECK_ONLY, {2}, {32, 8}},
};

static size_t count(const kpd_case *c) { return (size_t)c->dims[0] * (size_t)c->dims[1]; }

static float factor(const kpd_case *c) { return c->dims[0] == 1000 ? 0.5f : 2.0f; }

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[IN] = {"in", KPD_IN, KPD_F32, count(c)};
    b[OUT] = {"out", KPD_OUT, KPD_F32, count(c)};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[IN], count(c));
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *in = (const float *)data[IN];
    for (size_t i = 0; i < count(c); i++) want[OUT][i] = (double)in[i] * factor(c) + 1.0;
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    prover::row_scale<<<kpd_dim3(c->grid), kpd_dim3(c->block), 0, stream>>>(
        (const float *)device[IN], (float *)device[OUT], (int)c->dims[0], (int)c->dims[1], factor(c),
        prover::Bias{1.0f});
}

const kpd_task_t kpd_task = {
    "row_scale", {"height", "width"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, oracle, call,
};
"""
FLAT = GOOD.replace("kpd_dim3(c->block)", "dim3(c->block[0])")
"""The block has lost its second dimension."""


@dataclass(frozen=True)
class Sources:
    """The three files that `kpd task new` takes."""

    kernel: Path
    wrapper: Path
    observed: Path

    @property
    def arguments(self) -> list[str]:
        return ["--from", str(self.kernel), "--wrapper", str(self.wrapper), "--observed", str(self.observed)]


def sources(
    folder: Path,
    kernel: str = KERNEL,
    wrapper: str = WRAPPER,
    launches: list[dict[str, Any]] | None = None,
    name: str = "row_scale",
) -> Sources:
    """The files, in a folder as it might be in a production project."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.cuh").write_text(PARAMS)
    found = Sources(folder / "row_scale.cu", folder / "host.cu", folder / "row_scale.observed.json")
    found.kernel.write_text(kernel)
    found.wrapper.write_text(wrapper)
    rows = LAUNCHES if launches is None else launches
    found.observed.write_text(json.dumps({"kernel": name, "captured_at": "2026-04-19T15:59:21", "launches": rows}))
    return found


def fenced(section: str) -> str:
    return f"Here it is:\n\n```cuda\n{section}```\n"
