"""A library that passes for CUDA's driver: a device's memory is files that several processes map."""

import subprocess
from pathlib import Path

# A handle is the file's name, with the process and the address that it is of. As on a device, what is copied waits for
# nobody, a piece of memory has a number, and what is given back is taken again at the same address: who has not closed
# it before opens what it was. A process may take STANDIN_MOST bytes, if that is set.
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
typedef uint64_t address;
static struct piece {
    address at; size_t size; unsigned long long number; int taken; char name[64], origin[64];
} pieces[256];
static int many, named, pinned;
static size_t taken_bytes;
static struct { address at; size_t size; } given_back;
static struct piece *of(address at) {
    for (int i = 0; i < many; i++)
        if (pieces[i].size && pieces[i].at <= at && at < pieces[i].at + pieces[i].size) return &pieces[i];
    return 0;
}
static int map(const char *name, size_t size, address *at, int taken) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", getenv("STANDIN_MEMORY"), name);
    int file = open(path, O_RDWR | (size ? O_CREAT : 0), 0600);
    if (file < 0) return 201;
    if (size && ftruncate(file, (off_t)size)) return 2;
    struct stat known;
    fstat(file, &known);
    void *hint = taken && size == given_back.size ? (void *)given_back.at : 0;
    void *found = mmap(hint, (size_t)known.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED) return 2;
    *at = (address)found;
    pieces[many] = (struct piece){*at, (size_t)known.st_size, 1000 + many, taken, {0}, {0}};
    strncpy(pieces[many++].name, name, 63);
    return 0;
}
int cuGetErrorName(int error, const char **name) {
    *name = error == 1 ? "CUDA_ERROR_INVALID_VALUE" : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : 0;
    return 0;
}
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &many; return device; }
int cuCtxSetCurrent(void *context) { return context != &many; }
int cuCtxSynchronize(void) { return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 38 ? 1 << 20 : 0; return device; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = &named; return flags != 1; }
int cuStreamSynchronize(void *stream) { return stream != &named; }
int cuMemAlloc_v2(address *at, size_t size) {
    char name[64], *most = getenv("STANDIN_MOST");
    if (most && (taken_bytes += size) > (size_t)atoll(most)) return 2;
    snprintf(name, sizeof name, "%d_%d", getpid(), named++);
    return map(name, size, at, 1);
}
int cuMemFree_v2(address at) {
    struct piece *one = of(at);
    if (!one || !one->taken) return 1;
    munmap((void *)one->at, one->size);
    given_back.at = one->at, given_back.size = one->size;
    return one->size = 0;
}
int cuMemAllocHost_v2(void **at, size_t size) { return !(*at = malloc(size)); }
int cuMemHostRegister_v2(void *at, size_t size, unsigned flags) { pinned++; return !at || !size || flags != 1; }
int cuMemHostUnregister(void *at) { return !at || !pinned; }
int cuIpcGetMemHandle(char *handle, address at) {
    struct piece *one = of(at);
    if (!one || one->at != at || !one->taken) return 1;
    snprintf(handle, 64, "%s %d_%llx", one->name, getpid(), (unsigned long long)at);
    return 0;
}
int cuIpcOpenMemHandle_v2(address *at, struct { char name[64]; } handle, unsigned flags) {
    handle.name[63] = 0;
    char *origin = strchr(handle.name, ' ');
    if (strchr(handle.name, '/') || !origin || flags != 1) return 201;
    *origin++ = 0;
    for (int i = 0; i < many; i++)
        if (pieces[i].size && !strcmp(pieces[i].origin, origin)) return *at = pieces[i].at, 0;
    int failed = map(handle.name, 0, at, 0);
    if (!failed) strncpy(pieces[many - 1].origin, origin, 63);
    return failed;
}
int cuIpcCloseMemHandle(address at) { struct piece *one = of(at); return one ? (int)(one->size = 0) : 1; }
int cuMemGetAddressRange_v2(address *base, size_t *size, address at) {
    struct piece *one = of(at);
    if (!one) return 1;
    *base = one->at, *size = one->size;
    return 0;
}
int cuPointerGetAttribute(unsigned long long *value, int which, address at) {
    struct piece *one = of(at);
    if (!one || which != 7) return 1;
    *value = one->number;
    return 0;
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t size, void *stream) {
    struct piece *one = of(to);
    if (!one || to + size > one->at + one->size) return 1;
    memcpy((void *)to, from, size);
    return cuStreamSynchronize(stream);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t size, void *stream) {
    struct piece *one = of(from);
    if (!one || from + size > one->at + one->size) return 1;
    return cuMemcpyHtoDAsync_v2(to, (void *)from, size, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t size, void *stream) {
    struct piece *one = of(from);
    if (!one || from + size > one->at + one->size) return 1;
    memcpy(to, (void *)from, size);
    return cuStreamSynchronize(stream);
}
int cuModuleLoadData(void **module, const char *text) { *module = (void *)text; return strncmp(text, ".version", 8); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    if (strncmp(name, "gather", 6)) return 500;
    *function = (void *)(intptr_t)(atoi(name + 6) / 8);
    return 0;
}
static uint64_t drawn(uint64_t seed, uint64_t key, uint64_t most) {
    uint64_t bits = key * 0x9E3779B97F4A7C15u + seed;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return ((bits ^ bits >> 31) >> 32) * most >> 32;
}
int cuLaunchKernel(void *kernel, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
    unsigned shared, void *stream, void **given, void **extra) {
    size_t width = (size_t)kernel;
    address to = *(address *)given[0], from = *(address *)given[1];
    uint64_t seed = *(uint64_t *)given[2];
    unsigned count = *(unsigned *)given[3], whole = *(unsigned *)given[4], piece = *(unsigned *)given[5];
    unsigned begins = *(unsigned *)given[6], total = *(unsigned *)given[7];
    struct piece *target = of(to), *source = of(from);
    if (!target || to + count * width > target->at + target->size || !source || extra) return 1;
    if (from + total * width > source->at + source->size || (size_t)blocks * threads < count) return 1;
    for (unsigned at = 0; at < count; at++) {
        uint64_t place = drawn(seed, at + (1ull << 40), total);
        if (at < whole) place = drawn(seed, at / piece, begins) + at % piece;
        memcpy((char *)to + at * width, (char *)from + place * width, width);
    }
    return cuStreamSynchronize(stream);
}
int cuMemsetD8Async(address to, unsigned char byte, size_t size, void *stream) {
    if (!of(to)) return 1;
    if (getenv("STANDIN_BUSY_US")) usleep((useconds_t)atoi(getenv("STANDIN_BUSY_US")));
    memset((void *)to, byte, size);
    return cuStreamSynchronize(stream);
}
"""


def built(folder: Path) -> dict[str, str]:
    """Build it, and return the environment of a process that finds it in the driver's place."""
    source, memory = folder / "libcuda.c", folder / "memory"
    source.write_text(SOURCE)
    memory.mkdir()
    library = folder / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source)], check=True)
    return {"LD_LIBRARY_PATH": str(folder), "STANDIN_MEMORY": str(memory)}
