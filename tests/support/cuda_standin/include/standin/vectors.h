/* dim3 and the short vectors, with CUDA's alignments. */
#pragma once

#define KPD_VECTOR(type, name, align2, align4)                                                                         \
    struct name##1 { type x; };                                                                                        \
    struct __attribute__((aligned(align2))) name##2 { type x, y; };                                                    \
    struct name##3 { type x, y, z; };                                                                                  \
    struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };                                              \
    static inline name##1 make_##name##1(type x) { return {x}; }                                                       \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                            \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                 \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

KPD_VECTOR(signed char, char, 2, 4)
KPD_VECTOR(unsigned char, uchar, 2, 4)
KPD_VECTOR(short, short, 4, 8)
KPD_VECTOR(unsigned short, ushort, 4, 8)
KPD_VECTOR(int, int, 8, 16)
KPD_VECTOR(unsigned int, uint, 8, 16)
KPD_VECTOR(long long, longlong, 16, 16)
KPD_VECTOR(unsigned long long, ulonglong, 16, 16)
KPD_VECTOR(float, float, 8, 16)
KPD_VECTOR(double, double, 16, 16)
#undef KPD_VECTOR

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
