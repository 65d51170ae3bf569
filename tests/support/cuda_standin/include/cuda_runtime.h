/* The CUDA stand-in: what kpd's harnesses use of the CUDA runtime, run on the CPU. See ../README.md.
 *
 * Functions and state are inline and hidden: every object built by the stand-in carries its own copy, as one that is
 * linked with the static CUDA runtime does. */
#pragma once
#ifndef __cplusplus
#error "the CPU stand-in's CUDA runtime is for C++"
#endif

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if !defined(__x86_64__) || defined(KPD_STANDIN_UCONTEXT)
#define KPD_UCONTEXT 1
#include <ucontext.h>
#endif

#define CUDART_VERSION 13000
#define __align__(n) __attribute__((aligned(n)))
#define CUDART_CB
#define CUDARTAPI

/* Types first: functions of the user that take a hidden type would be hidden, too. */
#include "standin/vectors.h"
#include "standin/errors.h"
#include "standin/types.h"

#pragma GCC visibility push(hidden)
#include "standin/process.h"
#include "standin/fibers.h"
#include "standin/block.h"
#include "standin/warps.h"
#include "standin/launch.h"
#include "standin/memory.h"
#include "standin/streams.h"
#include "standin/graphs.h"
#include "standin/device.h"
#include "standin/intrinsics.h"
#include "standin/atomics.h"
#pragma GCC visibility pop
