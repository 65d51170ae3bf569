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

#include "kernel.cu"

#include "harness.cu"
