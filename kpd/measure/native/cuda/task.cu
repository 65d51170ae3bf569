/* The one translation unit of a CUDA task: with its own kernel a part of the driver's program, with a candidate's the object
 * that the driver loads. kpd/measure/cuda/{harness,build}.py have the command lines. nvcc links its runtime into both, so a
 * host needs no library beside the GPU's driver.
 *
 * kpd's own part comes first: no macro of the kernel's can change what kpd_last_error does while the clock runs. Nor may a
 * flag's.
 */
#if defined KPD_TASK_H || defined kpd_last_error || defined cudaGetLastError
#error "KPD_TASK_H, kpd_last_error and cudaGetLastError are names of kpd's and of CUDA's: no flag may define them"
#endif
#include "kpd_task.h"

#ifdef KPD_CANDIDATE
/* Which variables a kernel has on the device: the linker has `--wrap` for what they are registered by. Only the object's own runtime
 * knows where they lie. */
static struct {
    const void *symbol;
    size_t bytes;
} kpd_variables[64];
static int kpd_variable_count;

extern "C" void __real___cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

extern "C" void __wrap___cudaRegisterVar(
    void **binary, char *symbol, char *address, const char *name, int external, size_t bytes, int constant, int global) {
    __real___cudaRegisterVar(binary, symbol, address, name, external, bytes, constant, global);
    if (!constant && kpd_variable_count < 64) kpd_variables[kpd_variable_count++] = {symbol, bytes};
}

extern "C" __attribute__((visibility("default"))) size_t kpd_variable(int number, void **address) {
    if (number >= kpd_variable_count || cudaGetSymbolAddress(address, kpd_variables[number].symbol) != cudaSuccess) return 0;
    return kpd_variables[number].bytes;
}
#endif

#include "kernel.cu"

#include "harness.cu"
