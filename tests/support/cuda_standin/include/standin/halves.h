/* What the 16-bit floating-point types have in common: they are kept in 16 bits and computed in float, rounded to the
 * nearest even after every operation, as the GPU's own operations are. */
#pragma once
#include "../cuda_runtime.h"

namespace kpd_standin {

struct AsHalf {
    static uint16_t encode(float value) {
        uint32_t x = bits<uint32_t>(value), sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
        if (magnitude > 0x7f800000) return 0x7fff;
        if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
        if (magnitude < 0x38800000) /* beside 0.5f, the last bit of a float is that of a denormal half */
            return (uint16_t)(sign | (bits<uint32_t>(bits<float>(magnitude) + 0.5f) - 0x3f000000));
        return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
    }
    static float decode(uint16_t code) {
        uint32_t exponent = code >> 10 & 31, mantissa = code & 0x3ff;
        float magnitude = exponent == 0    ? (float)mantissa * 0x1p-24f
                          : exponent == 31 ? bits<float>(0x7f800000u | mantissa << 13)
                                           : bits<float>((exponent + 112) << 23 | mantissa << 13);
        return code & 0x8000 ? -magnitude : magnitude;
    }
};

struct AsBfloat {
    static uint16_t encode(float value) {
        uint32_t x = bits<uint32_t>(value);
        return (x & 0x7fffffff) > 0x7f800000 ? 0x7fff : (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
    static float decode(uint16_t code) { return bits<float>((uint32_t)code << 16); }
};

} /* namespace kpd_standin */

#define KPD_HALF(T, Pair, Format)                                                                                      \
    struct __attribute__((aligned(2))) T {                                                                             \
        uint16_t code;                                                                                                 \
        T() = default;                                                                                                 \
        T(float v) : code(kpd_standin::Format::encode(v)) {}                                                           \
        T(double v) : T((float)v) {}                                                                                   \
        T(int v) : T((float)v) {}                                                                                      \
        operator float() const { return kpd_standin::Format::decode(code); }                                           \
        T &operator+=(T o) { return *this = T((float)*this + (float)o); }                                              \
        T &operator*=(T o) { return *this = T((float)*this * (float)o); }                                              \
    };                                                                                                                 \
    struct __attribute__((aligned(4))) Pair { T x, y; };                                                               \
    inline T operator+(T a, T b) { return T((float)a + (float)b); }                                                    \
    inline T operator-(T a, T b) { return T((float)a - (float)b); }                                                    \
    inline T operator*(T a, T b) { return T((float)a * (float)b); }                                                    \
    inline T operator/(T a, T b) { return T((float)a / (float)b); }                                                    \
    inline T operator-(T a) { return T(-(float)a); }                                                                   \
    inline bool operator<(T a, T b) { return (float)a < (float)b; }                                                    \
    inline bool operator>(T a, T b) { return (float)a > (float)b; }                                                    \
    inline bool operator<=(T a, T b) { return (float)a <= (float)b; }                                                  \
    inline bool operator>=(T a, T b) { return (float)a >= (float)b; }                                                  \
    inline bool operator==(T a, T b) { return (float)a == (float)b; }                                                  \
    inline bool operator!=(T a, T b) { return (float)a != (float)b; }                                                  \
    inline T __hadd(T a, T b) { return a + b; }                                                                        \
    inline T __hsub(T a, T b) { return a - b; }                                                                        \
    inline T __hmul(T a, T b) { return a * b; }                                                                        \
    inline T __hdiv(T a, T b) { return a / b; }                                                                        \
    inline T __hneg(T a) { return -a; }                                                                                \
    inline T __habs(T a) { return T(fabsf((float)a)); }                                                                \
    inline T __hmax(T a, T b) { return T(fmaxf((float)a, (float)b)); }                                                 \
    inline T __hmin(T a, T b) { return T(fminf((float)a, (float)b)); }                                                 \
    inline T __hfma(T a, T b, T c) { return T(fmaf((float)a, (float)b, (float)c)); }                                   \
    inline Pair __hadd2(Pair a, Pair b) { return {a.x + b.x, a.y + b.y}; }                                             \
    inline Pair __hmul2(Pair a, Pair b) { return {a.x * b.x, a.y * b.y}; }                                             \
    inline Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
    inline float __low2float(Pair a) { return (float)a.x; }                                                            \
    inline float __high2float(Pair a) { return (float)a.y; }
