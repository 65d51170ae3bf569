"""Objects of honest kernels in C++ and CUDA, as real compilers make them: none has a flag."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kpd.measure.objects import allowed, elf, instructions
from kpd.model.flags import Flag

CPP = {
    "containers and a lock": """
#include <mutex>
#include <unordered_map>
#include <vector>
void scale(const float *x, float *y, long n) {
    static std::mutex lock; static std::once_flag once; static std::unordered_map<long, std::vector<float>> plans;
    std::lock_guard<std::mutex> held(lock);
    std::call_once(once, [] { plans.reserve(8); });
    auto &plan = plans[n];
    plan.assign(x, x + n);
    for (long i = 0; i < n; i++) y[i] = 2 * plan[i];
}""",
    "shared memory of its own": """
#include <memory>
void scale(const float *x, float *y, long n) {
    auto kept = std::make_shared<float[]>(n); auto again = kept;
    for (long i = 0; i < n; i++) again[i] = x[i];
    for (long i = 0; i < n; i++) y[i] = 2 * kept[i];
}""",
    "a thread's own scratch": """
#include <vector>
void scale(const float *x, float *y, long n) {
    thread_local std::vector<float> scratch;
    scratch.assign(x, x + n);
    for (long i = 0; i < n; i++) y[i] = 2 * scratch[i];
}""",
    "virtual functions": """
#include <stdexcept>
struct Way { virtual float of(float) const = 0; virtual ~Way() = default; };
struct Twice : Way { float of(float x) const override { return 2 * x; } };
void scale(const float *x, float *y, long n) {
    static const Way *way = new Twice;
    if (!dynamic_cast<const Twice *>(way)) throw std::runtime_error("another way");
    for (long i = 0; i < n; i++) y[i] = way->of(x[i]);
}""",
    "an error's text, by a stream": """
#include <sstream>
#include <stdexcept>
void scale(const float *x, float *y, long n) {
    if (n < 0) {
        std::ostringstream said;
        said << __FILE__ << ':' << __LINE__ << ": " << n << " elements, of " << sizeof *x;
        throw std::runtime_error(said.str());
    }
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}""",
    "a lock for many readers": """
#include <map>
#include <mutex>
#include <shared_mutex>
void scale(const float *x, float *y, long n) {
    static std::shared_mutex lock; static std::map<long, float> plans;
    { std::unique_lock<std::shared_mutex> held(lock); plans[n] = 2; }
    std::shared_lock<std::shared_mutex> held(lock);
    for (long i = 0; i < n; i++) y[i] = plans[n] * x[i];
}""",
}
LAUNCHES = """
__global__ void twice(const float *x, float *y, long n) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = of(x[i]);
}
extern "C" void run(const float *x, float *y, long n, cudaStream_t s) { twice<<<132, 256, 0, s>>>(x, y, n); CHECKED }
"""
OF = "static __device__ float of(float x) { return 2 * x; }"
CUDA = {
    "a function of the device": "__device__ float of(float x) { return 2 * x; }",
    "one that is not inlined": "__device__ __noinline__ float of(float x) { return 2 * x; }",
    "members": """
struct Pair { float a, b; __device__ Pair operator+(const Pair &other) const; };
__device__ Pair Pair::operator+(const Pair &other) const { return {a + other.a, b + other.b}; }
__device__ float of(float x) { Pair p = {x, 0}; return (p + p).a; }""",
    "functions by pointers": """
__device__ float twice_of(float x) { return 2 * x; }
__device__ float (*const ways[])(float) = {twice_of};
__device__ float of(float x) { return ways[0](x); }""",
    "errors that end the process": f"""
#include <cstdio>
#include <cstdlib>
#define CHECKED cudaError_t e = cudaGetLastError(); \\
    if (e != cudaSuccess) {{ fprintf(stderr, "%s in line %d\\n", cudaGetErrorString(e), __LINE__); exit(1); }}
{OF}""",
    "errors that a stream writes": f"""
#include <cstdlib>
#include <iostream>
#define CHECKED if (cudaError_t e = cudaGetLastError()) {{ \\
    std::cerr << cudaGetErrorString(e) << " in line " << __LINE__ << std::endl; std::abort(); }}
{OF}""",
    "memory of three dimensions": f"""
#define CHECKED static cudaPitchedPtr room; cudaExtent size = make_cudaExtent(64, 64, 4); if (!room.ptr) {{ \\
    cudaMalloc3D(&room, size); cudaMemset3DAsync(room, 0, size, s); }} \\
    cudaMemcpy3DParms copy = {{}}; copy.srcPtr = room; copy.dstPtr = room; copy.extent = size; \\
    copy.kind = cudaMemcpyDeviceToDevice; cudaMemcpy3DAsync(&copy, s);
{OF}""",
    "plans behind a lock": f"""
#include <mutex>
#include <unordered_map>
#define CHECKED static std::mutex lock; static std::unordered_map<long, int> plans; \\
    std::lock_guard<std::mutex> held(lock); plans[n]++;
{OF}""",
    "a texture": f"""
#define CHECKED static cudaTextureObject_t texture; if (!texture) {{ \\
    cudaResourceDesc from = {{}}; cudaTextureDesc how = {{}}; from.resType = cudaResourceTypeLinear; \\
    from.res.linear.devPtr = y; from.res.linear.desc = cudaCreateChannelDesc<float>(); \\
    from.res.linear.sizeInBytes = 4 * n; cudaCreateTextureObject(&texture, &from, &how, nullptr); }}
{OF}""",
    "Thrust": f"""
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#define CHECKED auto at = thrust::device_pointer_cast(x); thrust::reduce(thrust::cuda::par_nosync.on(s), at, at + n);
{OF}""",
}


def flags(folder: Path, list_of: allowed.Allowed, name: str, source: str, *command: str) -> set[Flag]:
    (folder / name).write_text(source + "\n")
    subprocess.run([*command, "-c", name, "-o", "kernel.o"], cwd=folder, check=True)
    listed = subprocess.run(
        ["objdump", "-d", "-r", "-w", "--no-show-raw-insn", "kernel.o"], cwd=folder, check=True, capture_output=True
    )
    tables = elf.tables((folder / "kernel.o").read_bytes(), list_of)
    return {*tables, *instructions.of_cpu(listed.stdout.decode())}


@pytest.mark.parametrize("optimised", ["-O1", "-O3"])
@pytest.mark.parametrize("what", CPP)
def test_an_honest_kernel_in_cpp_has_no_flag(tmp_path: Path, what: str, optimised: str) -> None:
    command = ("g++", optimised, "-fPIC", "-fno-gnu-unique", "-std=gnu++20")
    assert flags(tmp_path, allowed.CPP, "kernel.cpp", CPP[what], *command) == set()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
@pytest.mark.parametrize("what", CUDA)
def test_an_honest_kernel_in_cuda_has_no_flag(tmp_path: Path, what: str) -> None:
    own = ("-O3", "-arch=sm_90", "-std=c++17", "-DNVTX_DISABLE", "-Xcompiler", "-fPIC,-fno-gnu-unique", "-w")
    head = "" if "CHECKED" in CUDA[what] else "#define CHECKED\n"
    assert flags(tmp_path, allowed.CUDA, "kernel.cu", head + CUDA[what] + LAUNCHES, "nvcc", *own) == set()
