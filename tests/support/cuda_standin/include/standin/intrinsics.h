/* Device functions that the C library does not have. The fast, inexact ones are exact here. */
#pragma once

#define KPD_EXTREMES(T)                                                                                                \
    inline T max(T a, T b) { return a > b ? a : b; }                                                                   \
    inline T min(T a, T b) { return a < b ? a : b; }
KPD_EXTREMES(int)
KPD_EXTREMES(unsigned)
KPD_EXTREMES(long)
KPD_EXTREMES(unsigned long)
KPD_EXTREMES(long long)
KPD_EXTREMES(unsigned long long)
#undef KPD_EXTREMES
inline float max(float a, float b) { return fmaxf(a, b); }
inline float min(float a, float b) { return fminf(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(double a, double b) { return fmin(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }

namespace kpd_standin {
template <class To, class From> To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
} /* namespace kpd_standin */

inline int __float_as_int(float x) { return kpd_standin::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return kpd_standin::bits<unsigned>(x); }
inline float __int_as_float(int x) { return kpd_standin::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return kpd_standin::bits<float>(x); }
inline long long __double_as_longlong(double x) { return kpd_standin::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return kpd_standin::bits<double>(x); }
inline int __float2int_rn(float x) { return (int)rintf(x); }
inline int __float2int_rz(float x) { return (int)x; }
inline float __int2float_rn(int x) { return (float)x; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((uint64_t)x * y >> 32); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}

#define KPD_LOAD(name) template <class T> T name(const T *p) { return *p; }
#define KPD_STORE(name) template <class T> void name(T *p, T value) { *p = value; }
KPD_LOAD(__ldg)
KPD_LOAD(__ldca)
KPD_LOAD(__ldcg)
KPD_LOAD(__ldcs)
KPD_LOAD(__ldlu)
KPD_LOAD(__ldcv)
KPD_STORE(__stwb)
KPD_STORE(__stcg)
KPD_STORE(__stcs)
KPD_STORE(__stwt)
#undef KPD_LOAD
#undef KPD_STORE

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline void __trap() { kpd_standin::die("__trap()"); }
inline long long clock64() { return (long long)kpd_standin::now_ns(); } /* a clock of 1 GHz */
