/* The one translation unit of a CUDA task. How it is compiled, from the folder that holds kpd/ (these sources) and task/
 * (the task's files, or a candidate's); ARCH is sm_90 and the like:
 *
 * (a) the driver's program, with the kernel that the task came with; KPD_C stands for
 *     kpd/{driver,report,check,timed,values,arena,truth,crew,worker,batches}.c kpd/cuda/telemetry.c
 *
 *     nvcc -arch=ARCH -std=c++17 -O3 -D_GNU_SOURCE -Xcompiler -Wall -Ikpd -Itask \
 *         kpd/cuda/task.cu kpd/cuda/device.cu kpd/cuda/clock.cu KPD_C -o bench -lpthread -ldl
 *
 * (b) a candidate's object, with its own FLAGS and the task's:
 *
 *     nvcc -arch=ARCH -std=c++17 -O3 -lineinfo -DKPD_CANDIDATE -Xptxas -v -Xcompiler -fPIC,-Wall,-fno-gnu-unique \
 *         -Ikpd -Itask FLAGS -shared -Xlinker -z,defs kpd/cuda/task.cu -o kernel.so
 *
 * (c) the roofline:
 *
 *     nvcc -arch=ARCH -std=c++17 -O3 -Xcompiler -Wall kpd/cuda/roofline.cu -o roofline
 *
 * The runtime is linked into each of them (-cudart static, nvcc's default), so that a host needs no library beside the
 * driver's. Without -fno-gnu-unique a static variable of an inline function would be one for candidate and incumbent.
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
