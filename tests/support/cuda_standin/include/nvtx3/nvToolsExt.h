/* NVTX: nobody listens. Push and pop give what they give without a listener. */
#pragma once

static inline int nvtxRangePushA(const char *name) { return (void)name, -2; }
static inline int nvtxRangePop(void) { return -2; }
static inline void nvtxMarkA(const char *name) { (void)name; }
#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
