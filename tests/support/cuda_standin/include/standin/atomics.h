/* Atomics: a thread runs until it waits, so that nothing can come between. Only the types that CUDA takes. */
#pragma once

namespace kpd_standin {
template <class T, class Change> T atomically(T *p, Change change) {
    T old = *p;
    *p = change(old);
    return old;
}
} /* namespace kpd_standin */

#define KPD_ATOMIC(name, T, expression)                                                                                \
    inline T name(T *p, T value) {                                                                                     \
        return kpd_standin::atomically(p, [=](T old) -> T { return expression; });                                     \
    }
#define KPD_ATOMIC_INTEGERS(name, expression)                                                                          \
    KPD_ATOMIC(name, int, expression)                                                                                  \
    KPD_ATOMIC(name, unsigned, expression)                                                                             \
    KPD_ATOMIC(name, unsigned long long, expression)

KPD_ATOMIC_INTEGERS(atomicAdd, old + value)
KPD_ATOMIC(atomicAdd, float, old + value)
KPD_ATOMIC(atomicAdd, double, old + value)
KPD_ATOMIC(atomicSub, int, old - value)
KPD_ATOMIC(atomicSub, unsigned, old - value)
KPD_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
KPD_ATOMIC(atomicMax, long long, old > value ? old : value)
KPD_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
KPD_ATOMIC(atomicMin, long long, old < value ? old : value)
KPD_ATOMIC_INTEGERS(atomicAnd, old & value)
KPD_ATOMIC_INTEGERS(atomicOr, old | value)
KPD_ATOMIC_INTEGERS(atomicXor, old ^ value)
KPD_ATOMIC_INTEGERS(atomicExch, ((void)old, value))
KPD_ATOMIC(atomicExch, float, ((void)old, value))
KPD_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
KPD_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)

#define KPD_CAS(T)                                                                                                     \
    inline T atomicCAS(T *p, T expected, T value) {                                                                    \
        return kpd_standin::atomically(p, [=](T old) { return old == expected ? value : old; });                       \
    }
KPD_CAS(int)
KPD_CAS(unsigned)
KPD_CAS(unsigned short)
KPD_CAS(unsigned long long)
#undef KPD_CAS
#undef KPD_ATOMIC
#undef KPD_ATOMIC_INTEGERS

/* A block is one thread of the host: the scopes do not differ. */
template <class T, class V> T atomicAdd_block(T *p, V value) { return atomicAdd(p, (T)value); }
template <class T, class V> T atomicAdd_system(T *p, V value) { return atomicAdd(p, (T)value); }
