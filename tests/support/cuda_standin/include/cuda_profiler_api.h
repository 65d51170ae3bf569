#pragma once
#include "cuda_runtime.h"

/* Nothing profiles the stand-in. */
static inline cudaError_t cudaProfilerStart() { return kpd_standin::enter(); }
static inline cudaError_t cudaProfilerStop() { return kpd_standin::enter(); }
