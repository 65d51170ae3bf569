#pragma once
#include "standin/halves.h"

KPD_HALF(__half, __half2, AsHalf)
typedef __half half;
typedef __half2 half2;

inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline float __half2float(__half x) { return (float)x; }
inline __half __int2half_rn(int x) { return __half(x); }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
inline __half __ushort_as_half(unsigned short code) { return kpd_standin::bits<__half>(code); }
inline unsigned short __half_as_ushort(__half x) { return x.code; }
