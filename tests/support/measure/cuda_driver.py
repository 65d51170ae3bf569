"""kpd's CUDA driver, built with the CPU stand-in for nvcc, and kernels with all kinds of faults put to it."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kpd.measure.cuda.bench import ENGINE
from kpd.measure.cuda.build import LINKING
from kpd.measure.driver.harness import SOURCES
from tests.places import ROOT
from tests.support import cuda_standin
from tests.support.patience import PATIENCE_S

NATIVE = ROOT / "kpd" / "measure" / "native"
NVCC = str(cuda_standin.BIN / "nvcc")
SEED = "123456789abcdef0\n"

# y = 2 x + k and u = k + 7; g and v are copies: inputs and outputs of every type but double, and a length that is odd.
HARNESS = """
#include "kpd_task.h"
enum { X, K, H, W, Y, U, G, V };
static const kpd_case cases[] = {
    {"4000", {4000}, KPD_CHECK_AND_TIME, {16}, {256}},
    {"1003", {1003}, KPD_CHECK_ONLY, {4}, {256}},
    {"6001", {6001}, KPD_TIME_ONLY, {24}, {256}},
};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t n = (size_t)c->dims[0];
    b[X] = {"x", KPD_IN, KPD_F32, n};
    b[K] = {"k", KPD_IN, KPD_I32, n};
    b[H] = {"h", KPD_IN, KPD_F16, n};
    b[W] = {"w", KPD_IN, KPD_BF16, n};
    b[Y] = {"y", KPD_OUT, KPD_F32, n};
    b[U] = {"u", KPD_OUT, KPD_U32, n};
    b[G] = {"g", KPD_OUT, KPD_F16, n};
    b[V] = {"v", KPD_OUT, KPD_BF16, n};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    size_t n = (size_t)c->dims[0];
    kpd_fill(rng, d, data[X], n);
    kpd_fill_int(rng, d, data[K], n, 0, 1000000);
    kpd_fill_f16(rng, d, data[H], n);
    kpd_fill_bf16(rng, d, data[W], n);
}
typedef struct {
    void *const *data;
    double *const *want;
} both;
static void part(void *context, size_t from, size_t to) {
    const both *b = (const both *)context;
    for (size_t i = from; i < to; i++) {
        int k = ((const int *)b->data[K])[i];
        b->want[Y][i] = 2.0 * ((const float *)b->data[X])[i] + k;
        b->want[U][i] = k + 7.0;
        b->want[G][i] = kpd_f16(((const uint16_t *)b->data[H])[i]);
        b->want[V][i] = kpd_bf16(((const uint16_t *)b->data[W])[i]);
    }
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    both b = {data, want};
    kpd_parallel((size_t)c->dims[0], 1000, part, &b);
}
static void call(const kpd_case *c, void *const *d, cudaStream_t stream) {
    blend(kpd_dim3(c->grid), kpd_dim3(c->block), stream, (int)c->dims[0], (float *)d[X], (int *)d[K], (uint16_t *)d[H],
          (uint16_t *)d[W], (float *)d[Y], (unsigned *)d[U], (uint16_t *)d[G], (uint16_t *)d[V]);
}
const kpd_task_t kpd_task = {"blend", {"n"}, cases, 3, 8, buffers, fill, oracle, call};
"""

# One object for all: what it does wrong is a word in it, which the tests replace, as compiling takes longest.
KERNEL = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
extern "C" { volatile char fault[24] = "FAULT:................."; }
enum { NONE, VALUE, SMALL, INTEGER, GAP, LAST, PAST, PAST_HALF, BEFORE, INPUT, NOWHERE, ENDLESS, STALE, BRIEF, BEYOND,
       FINDS, TAME };
enum { MOST = 1000 };
static __device__ float firsts[MOST], lasts[MOST], seen[MOST][8192];
static __device__ int idle[MOST];

static __global__ void blended(int wrong, int place, int n, float *x, int *k, uint16_t *h, uint16_t *w, float *y,
                               unsigned *u, uint16_t *g, uint16_t *v) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (wrong == STALE && firsts[place] == x[0] && lasts[place] == x[n - 1]) return;
    if (wrong == BRIEF && !i) { /* it works only if much has changed, or nothing is there: never while it is timed */
        int changed = 0;
        for (int j = 0; j < n; j++) {
            changed += seen[place][j] != x[j];
            seen[place][j] = x[j];
        }
        idle[place] = changed <= 16 && y[7] == y[7];
    }
    if (wrong == BRIEF && idle[place]) return;
    if (i >= n || (wrong == GAP && i >= 512 && i < 3000) || (wrong == LAST && i == n - 1)) return;
    while (wrong == ENDLESS) *(volatile float *)y = 0.0f;
    float found = y[i];
    y[i] = 2.0f * x[i] + (float)k[i];
    if (wrong == FINDS && found == y[i]) y[i] += 1.0f; /* somebody has been here with these inputs */
    u[i] = (unsigned)k[i] + 7u;
    g[i] = h[i];
    v[i] = w[i];
    if (wrong == TAME && n == 6001 && (x[i] > 7.0f || x[i] < -7.0f)) y[i] += 1e30f;
    if (i < n - 1) return;
    if (wrong == VALUE) y[7] += 1.0f;
    if (wrong == SMALL) g[7] ^= 64;
    if (wrong == INTEGER) u[7] += 1u;
    if (wrong == PAST) y[n] = 0.0f;
    if (wrong == PAST_HALF) g[n] = 0;
    if (wrong == BEFORE) u[-1] = 0u;
    if (wrong == INPUT) k[5] = -1;
    if (wrong == NOWHERE) x[1ll << 40] = 0.0f;
    if (wrong == BEYOND) (void)*(volatile int *)&k[n];
    if (wrong == STALE) firsts[place] = x[0], lasts[place] = x[n - 1];
}

static long long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static __global__ void spun(int us) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < 1000ull * us);
}

struct last_word { /* what is done when the process ends */
    const char *does;
    float *own;
    ~last_word() {
        struct timespec rest = {!strcmp(does, "hangs") ? 60 : 5, 0};
        if (!strcmp(does, "crash")) abort();
        if (!strcmp(does, "status")) _Exit(3);
        if (!strcmp(does, "hangs") || !strcmp(does, "sleeps")) nanosleep(&rest, NULL);
        cudaFree(own);
    }
};

static void blend(dim3 grid, dim3 block, cudaStream_t stream, int n, float *x, int *k, uint16_t *h, uint16_t *w,
                  float *y, unsigned *u, uint16_t *g, uint16_t *v) {
    static const char *const faults[] = {"", "value", "small", "integer", "gap", "last", "past", "past_half", "before",
                                         "input", "nowhere", "endless", "stale", "brief", "beyond", "finds", "tame"};
    static int calls, buffers;
    static float *known[MOST];
    static long long last;
    static cudaStream_t own;
    char word[24];
    for (int i = 0; i < 24; i++) word[i] = fault[i];
    const char *name = word + 6;
    int late = !strncmp(name, "late_", 5), wrong = 0;
    int place = 0;
    while (place < buffers && known[place] != y) place++;
    int filled = place < buffers;
    if (!filled && buffers < MOST - 1) known[buffers++] = y;
    calls++;
    if (late) name = calls > 20 ? name + 5 : "";
    for (int f = 1; f <= TAME; f++)
        if (!strcmp(name, faults[f])) wrong = f;
    if (!strcmp(name, "crash")) abort();
    if (!strcmp(name, "leaks")) { /* see the stand-in's cudaMemGetInfo */
        FILE *file = fopen(getenv("KPD_STANDIN_FREE"), "w");
        fprintf(file, "4096");
        fclose(file);
    }
    if (!strcmp(name, "exit")) _Exit(0);
    if (!strncmp(name, "end_", 4)) {
        static last_word one = {strdup(name + 4), NULL};
        if (!one.own) cudaMalloc((void **)&one.own, sizeof(float));
    }
    if (!strcmp(name, "config")) block.x = 4096;
    if (!strcmp(name, "remembers") && filled) return; /* buffers it has filled before need no work, it thinks */
    if (!strcmp(name, "hurries")) { /* of calls in a row it does the first */
        long long now = now_us(), before = last;
        last = now;
        if (now - before < 20) return;
    }
    if (!strcmp(name, "aside")) {
        if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        stream = own;
    }
    if (!strcmp(name, "forgets")) stream = 0;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!strcmp(name, "captured")) cudaStreamIsCapturing(stream, &status);
    if (status == cudaStreamCaptureStatusActive) wrong = VALUE;
    if (!strcmp(name, "forks")) { /* the event that it waits for is recorded before the work */
        static cudaEvent_t begun, done;
        if (!own) {
            cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
            cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
        }
        cudaEventRecord(begun, stream);
        cudaStreamWaitEvent(own, begun, 0);
        cudaEventRecord(done, own);
        spun<<<1, 1, 0, own>>>(1);
        cudaStreamWaitEvent(stream, done, 0);
    }
    if (!strcmp(name, "keyed")) { /* where x was before, so was y, it thinks */
        static float *keys[MOST], *values[MOST];
        static int keyed;
        int key = 0;
        while (key < keyed && keys[key] != x) key++;
        if (key < keyed) y = values[key];
        else if (keyed < MOST) keys[keyed] = x, values[keyed++] = y;
    }
    if (!strcmp(name, "tells")) fprintf(stderr, "called on %p\\n", (void *)y);
    if (!strcmp(name, "drags")) spun<<<1, 1, 0, stream>>>(1000);
    if (!strcmp(name, "tail")) { /* 10 us of work a batch, which the clock does not see */
        if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        if (now_us() - last > 20) spun<<<1, 1, 0, own>>>(10);
        last = now_us();
    }
    blended<<<grid, block, 0, stream>>>(wrong, place, n, x, k, h, w, y, u, g, v);
    if (!strcmp(name, "waits")) cudaStreamSynchronize(stream);
}
"""


@dataclass(frozen=True)
class Driver:
    """The program `bench` in a folder of its own, and the object that `kernel` makes wrong ones of."""

    folder: Path

    def kernel(self, fault: str = "") -> str:
        """An object whose kernel has this fault; "late_" before it: from the 21st call on."""
        path = self.folder / f"{fault or 'right'}.so"
        if not path.exists():
            whole = (self.folder / "kernel.so").read_bytes()
            marked = b"FAULT:................."
            assert whole.count(marked) == 1
            path.write_bytes(whole.replace(marked, b"FAULT:" + fault.encode().ljust(17, b"\0")))
        return path.name

    def compiled(self, name: str, kernel: str, nvcc: str = NVCC) -> Self:
        """With an object of this name, made from this kernel."""
        (self.folder / "task" / "kernel.cu").write_text(kernel)
        candidate = ["-lineinfo", "-DKPD_CANDIDATE", "-Xcompiler", "-fPIC,-fno-gnu-unique"]
        compile_with(nvcc, self.folder, name, *candidate, *LINKING, "kpd/cuda/task.cu")
        return self

    def bench(
        self, *arguments: object, seed: str = SEED, program: str = "bench", **env: str
    ) -> subprocess.CompletedProcess[str]:
        command, env = [f"./{program}", *map(str, arguments)], {**os.environ, **env}
        return subprocess.run(
            command,
            cwd=self.folder,
            input=seed,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def report(self, *arguments: object, seed: str = SEED, program: str = "bench") -> dict[str, Any]:
        done = self.bench(*arguments, seed=seed, program=program)
        assert done.returncode in (0, 1), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        assert (found["problem"] is None) == (done.returncode == 0)
        return found

    def check(self, fault: str = "", limit_ms: int = 20_000) -> dict[str, Any]:
        return self.report("rtol=1e-6", "check", self.kernel(fault), 1, limit_ms)

    def fresh(self, fault: str = "", mode: str = "fresh", budget_ms: int = 100) -> dict[str, Any]:
        """Of a candidate with this fault, against a right one, on inputs that are new in each call."""
        return self.report(*self.audited(fault, mode, budget_ms))

    def audited(self, fault: str, mode: str, budget_ms: int = 100) -> tuple[object, ...]:
        shutil.copy(self.folder / self.kernel(), self.folder / "incumbent.so")
        return "rtol=1e-6", mode, "incumbent.so", self.kernel(fault), "a", budget_ms, 20_000

    def time(self, fault: str = "", incumbent: str = "", quads: int = 4, seed: str = SEED) -> dict[str, Any]:
        """Of a candidate with this fault, against a copy of an incumbent."""
        shutil.copy(self.folder / self.kernel(incumbent), self.folder / "incumbent.so")
        return self.report("rtol=1e-6", "time", "incumbent.so", self.kernel(fault), "a", quads, 20_000, seed=seed)


def compile_with(nvcc: str, folder: Path, out: str, *arguments: str) -> None:
    command = [
        nvcc,
        "-arch=sm_90",
        "-std=c++17",
        "-O3",
        "-Xcompiler",
        "-Wall",
        "-Ikpd",
        "-Itask",
        *arguments,
        "-o",
        out,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def sources(folder: Path, task: Mapping[str, str]) -> None:
    """kpd's sources and a task's, where the command lines in native/cuda/task.cu have them."""
    (folder / "kpd").symlink_to(NATIVE)
    (folder / "task").mkdir()
    for name, text in task.items():
        (folder / "task" / name).write_text(text)


def build(folder: Path, nvcc: str = NVCC, harness: str = HARNESS, kernel: str = KERNEL) -> Driver:
    sources(folder, {"harness.cu": harness, "kernel.cu": kernel})
    parts = [f"kpd/{name}" for name in ("cuda/task.cu", *ENGINE, *SOURCES)]
    compile_with(nvcc, folder, "bench", "-D_GNU_SOURCE", *parts, "-lpthread", "-ldl")
    return Driver(folder).compiled("kernel.so", kernel, nvcc)
