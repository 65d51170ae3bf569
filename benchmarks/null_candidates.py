"""Kernels whose gain is known: null candidates, which do the same work in another guise, and kernels that waste time.

The waste is data, so that kernels which waste more or less are the same code.
"""

import random
import re
from typing import NamedTuple

SIZES = (1, 7, 16, 40, 64, 100, 256, 500, 1000, 4096)
"""Bytes, or instructions on a GPU, of a dead function."""
KINDS = ("comment", "dead code before", "dead code after", "other order", "other names", "other spelling")
WAYS = ("less work", "fewer instructions")
"""What saves time in a planted gain: less work, or the same work by fewer instructions."""


class Kernel(NamedTuple):
    """A task's kernel: its file, its name, what it takes and how it passes that on, and its elements.

    `dead` is code that nobody calls, `wait` wastes time after the kernel, and `clumsy` is the whole file of a kernel
    that does a share of its work clumsily. `first` is what to waste at first: turns or nanoseconds an element, and that
    share.
    """

    file: str
    name: str
    takes: str
    passes: str
    elements: str
    dead: str
    wait: str
    clumsy: str
    first: tuple[float, float]

    @property
    def head(self) -> str:
        return f"void {self.name}({self.takes})"

    def inner(self, source: str) -> str:
        """Return the source with the kernel as a function that another one can call."""
        return source.replace(f"void {self.name}(", "__attribute__((noinline)) void inner(")

    @property
    def caller(self) -> str:
        return f"\n{self.head} {{ inner({self.passes}); }}\n"


DEAD_C = '\n__attribute__((used, noinline)) void dead(void) {{ __asm__ volatile(".skip {size}, 0x90"); }}\n'
WAIT_C = 'for (long turn = (long)((double)({elements}) * waste); turn > 0; turn--) __asm__ volatile("" : "+r"(turn));'
TRANSPOSE_CPU = Kernel(
    "kernel.c", "transpose", "const float *in, float *out, long rows, long cols", "in, out, rows, cols", "rows * cols",
    DEAD_C, WAIT_C,
    """
__attribute__((noinline)) static void plainly(const float *in, float *out, long rows, long cols, long to) {
    for (long i = 0; i * cols < to; i++)
        for (long j = 0; j < cols && i * cols + j < to; j++) out[j * rows + i] = in[i * cols + j];
}
__attribute__((noinline)) static void clumsily(const float *in, float *out, long rows, long cols, long from) {
    for (long at = from; at < rows * cols; at++) out[at % cols * rows + at / cols] = in[at];
}
void transpose(const float *in, float *out, long rows, long cols) {
    long most = rows * cols - (long)((double)(rows * cols) * waste);
    plainly(in, out, rows, cols, most);
    clumsily(in, out, rows, cols, most);
}
""",
    (0.05, 0.05),
)  # fmt: skip
RMSNORM_CPU = Kernel(
    "kernel.c", "rmsnorm_silu",
    "const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps",
    "x, w, g, y, rows, cols, eps", "rows * cols", DEAD_C, WAIT_C,
    """
#include <math.h>

static inline float result(float x, float w, float g, float scale) { return x * scale * w * (g / (1.0f + expf(-g))); }
__attribute__((noinline)) static void plainly(const float *x, const float *w, const float *g, float *y, long cols,
                                              float scale, long to) {
    for (long c = 0; c < to; c++) y[c] = result(x[c], w[c], g[c], scale);
}
__attribute__((noinline)) static void clumsily(const float *x, const float *w, const float *g, float *y, long cols,
                                               float scale, long from) {
    for (long at = from; at < cols; at++) {
        long before = at / cols;
        __asm__("" : "+r"(before)); /* or the compiler would see that c is at */
        long c = before * cols + at % cols;
        y[c] = result(x[c], w[c], g[c], scale);
    }
}
void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    long most = cols - (long)((double)cols * waste);
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float sum = 0.0f;
        for (long c = 0; c < cols; c++) sum += x[c] * x[c];
        float scale = 1.0f / sqrtf(sum / (float)cols + eps);
        plainly(x, w, g, y, cols, scale, most);
        clumsily(x, w, g, y, cols, scale, most);
    }
}
""",
    (0.1, 0.05),
)  # fmt: skip
TRANSPOSE_CUDA = Kernel(
    "kernel.cu", "transpose", "const float *in, float *out, long rows, long cols, cudaStream_t stream",
    "in, out, rows, cols, stream", "rows * cols",
    """
__global__ void dead(float *a) {{
    float x = a[threadIdx.x];
#pragma unroll
    for (int i = 0; i < {size}; i++) x = x * 1.0001f + (float)i;
    a[threadIdx.x] = x;
}}
""",
    "idle<<<1, 1, 0, stream>>>((long long)((double)({elements}) * waste));",
    """
__global__ void blocks(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long plain) {
    long i = (long)blockIdx.y * 8 + threadIdx.y, j = (long)blockIdx.x * 32 + threadIdx.x;
    if (i >= rows || j >= cols) return;
    float v = in[i * cols + j];
    if (i >= plain)
        for (int k = 0; k < 512; k++) asm volatile("add.f32 %0, %0, 0f00000000;" : "+f"(v));
    out[j * rows + i] = v;
}
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    dim3 grid((unsigned)((cols + 31) / 32), (unsigned)((rows + 7) / 8));
    blocks<<<grid, dim3(32, 8), 0, stream>>>(in, out, rows, cols, rows - (long)((double)rows * waste));
}
""",
    (0.0002, 0.2),
)  # fmt: skip
MATMUL_CPU = Kernel(
    "kernel.c", "matmul", "const float *a, const float *b, float *c, long m, long n, long k", "a, b, c, m, n, k",
    "m * n * k", DEAD_C, WAIT_C, "", (0.01, 0.0),
)  # fmt: skip
CONV2D_CPU = Kernel(
    "kernel.c", "conv2d", "const float *x, const float *w, float *y, long planes, long rows, long cols",
    "x, w, y, planes, rows, cols", "planes * rows * cols", DEAD_C, WAIT_C, "", (0.5, 0.0),
)  # fmt: skip
IDLE_CUDA = """
__global__ void idle(long long ns) {
    long long now, begun;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begun < ns);
}
"""
KERNELS = {"transpose_cpu": TRANSPOSE_CPU, "rmsnorm_silu_cpu": RMSNORM_CPU, "transpose_cuda": TRANSPOSE_CUDA}
"""The kernels by the names of their tasks."""
WITH_WASTE = {**{name: one for name, one in KERNELS.items() if name.endswith("cpu")},
              "matmul_cpu": MATMUL_CPU, "conv2d_cpu": CONV2D_CPU}  # fmt: skip
"""Those on a CPU that can waste time after the kernel; of the last two there is no clumsy one."""


def incumbent(source: str, kernel: Kernel) -> str:
    """Return the kernel as a function that another one calls: what null candidates are compared with."""
    return kernel.inner(source) + kernel.caller


def null(kind: str, number: int, source: str, kernel: Kernel) -> str:
    """Return a candidate of this kind that does what `incumbent` does."""
    chance = random.Random(f"{kind} {number}")
    same = incumbent(source, kernel)
    dead = kernel.dead.format(size=chance.choice(SIZES))
    match kind:
        case "comment":
            return f"{same}/* null candidate {number} */\n"
        case "dead code before":
            return dead + same
        case "dead code after":
            return same + dead
        case "other order":
            include, rest = source.split("\n\n", 1)
            declared = f"__attribute__((noinline)) void inner({kernel.takes});"
            return f"{include}\n{declared}\n{kernel.caller}\n{kernel.inner(rest)}{dead if number % 2 else ''}"
        case "other names":
            return re.sub(r"\binner\b", f"inner_{'x' * chance.randrange(1, 60)}", same)
        case "other spelling":
            return re.sub(r"^(#define [A-Z_]+ +)(\d+)", r"\1(\2 + 0)", same, flags=re.MULTILINE)
    raise ValueError(f"no kind of null candidate is called {kind}")


def wasteful(way: str, source: str, kernel: Kernel, waste: float) -> str:
    """Return a kernel that wastes as much as `waste` says: by more work, or by more instructions for the same work."""
    data = f"\nstatic volatile double waste = {waste:.8f};\n"
    if way == "fewer instructions":
        return "\n\n".join((source.split("\n\n", 1)[0], data, kernel.clumsy))
    idle = IDLE_CUDA if kernel.file.endswith(".cu") else ""
    wait = kernel.wait.format(elements=kernel.elements)
    return f"{kernel.inner(source)}{data}{idle}{kernel.head} {{\n    inner({kernel.passes});\n    {wait}\n}}\n"
