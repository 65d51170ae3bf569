/* What the lanes of a warp do together: shuffles, votes, __syncwarp.
 *
 * Lanes that the mask names meet in the same operation; those that have ended are not waited for. */
#pragma once

namespace kpd_standin {

inline constexpr int kBallot = -1;

inline unsigned lane() { return self->number % kLanes; }

/* The result for every lane of `mask` if all of them are there; they can go on, but for the one that runs now. */
inline bool meet(Warp &warp, unsigned mask, const char *what) {
    unsigned needed = mask & warp.alive;
    if ((warp.waiting & needed) != needed) return false;
    uint64_t ballot = 0;
    for (unsigned i = 0; i < kLanes; i++) {
        if (!(needed >> i & 1)) continue;
        const Lane &l = warp.lanes[i];
        if (l.mask != mask || l.what != what) return false;
        ballot |= (uint64_t)(l.value != 0) << i;
    }
    for (unsigned i = 0; i < kLanes; i++) {
        if (!(needed >> i & 1)) continue;
        Lane &l = warp.lanes[i];
        /* what a lane outside the mask would give is undefined: NaN shows where it is used */
        l.result = l.source == kBallot ? ballot : needed >> l.source & 1 ? warp.lanes[l.source].value : ~(uint64_t)0;
        if (l.fiber != self) go_on(l.fiber);
    }
    warp.waiting &= ~needed;
    return true;
}

inline void lane_ended(Warp &warp) {
    for (unsigned i = 0; i < kLanes; i++)
        if (warp.waiting >> i & 1) meet(warp, warp.lanes[i].mask, warp.lanes[i].what);
}

inline uint64_t together(const char *what, unsigned mask, uint64_t value, int source) {
    Warp &warp = warps[self->number / kLanes];
    unsigned me = lane();
    if (!(mask >> me & 1)) die("a lane calls a warp's operation with a mask that does not name it");
    warp.lanes[me] = {self, what, mask, value, 0, source};
    warp.waiting |= 1u << me;
    if (!meet(warp, mask, what)) pause(Wait::warp);
    return warp.lanes[me].result;
}

template <class T> T shuffle(const char *what, unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 8, "a shuffle takes 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, (const void *)&value, sizeof value);
    bits = together(what, mask, bits, source);
    memcpy((void *)&value, &bits, sizeof value);
    return value;
}

/* `source` where it lies between the bounds of the lane's segment, else the lane itself. */
inline int within(int source, int width) {
    int me = (int)lane(), first = me & ~(width - 1);
    return source >= first && source < first + width ? source : me;
}

inline constexpr char kShuffle[] = "__shfl_sync", kUp[] = "__shfl_up_sync", kDown[] = "__shfl_down_sync",
                      kXor[] = "__shfl_xor_sync", kVote[] = "a vote", kSync[] = "__syncwarp";

} /* namespace kpd_standin */

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    int first = (int)kpd_standin::lane() & ~(width - 1);
    return kpd_standin::shuffle(kpd_standin::kShuffle, mask, value, first + (source & (width - 1)));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int source = kpd_standin::within((int)kpd_standin::lane() - (int)delta, width);
    return kpd_standin::shuffle(kpd_standin::kUp, mask, value, source);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int source = kpd_standin::within((int)kpd_standin::lane() + (int)delta, width);
    return kpd_standin::shuffle(kpd_standin::kDown, mask, value, source);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    int source = (int)kpd_standin::lane() ^ bits, last = (int)kpd_standin::lane() | (width - 1);
    return kpd_standin::shuffle(kpd_standin::kXor, mask, value, source <= last ? source : (int)kpd_standin::lane());
}

inline void __syncwarp(unsigned mask = ~0u) { kpd_standin::together(kpd_standin::kSync, mask, 0, kpd_standin::kBallot); }
inline unsigned __ballot_sync(unsigned mask, int p) {
    return (unsigned)kpd_standin::together(kpd_standin::kVote, mask, p != 0, kpd_standin::kBallot);
}
inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
inline int __all_sync(unsigned mask, int p) { return !__ballot_sync(mask, !p); }
inline unsigned __activemask() { return 1u << kpd_standin::lane(); } /* nobody else runs right now */

namespace kpd_standin {

template <class T, class Combine> T reduce(unsigned mask, T value, Combine combine) {
    T all = value;
    unsigned alive = __ballot_sync(mask, 1), me = lane();
    for (unsigned i = 0; i < kLanes; i++) {
        if (!(alive >> i & 1)) continue;
        T other = __shfl_sync(mask, value, (int)i);
        if (i != me) all = combine(all, other);
    }
    return all;
}

} /* namespace kpd_standin */

#define KPD_REDUCE(T)                                                                                                  \
    inline T __reduce_add_sync(unsigned m, T v) { return kpd_standin::reduce(m, v, [](T a, T b) { return a + b; }); }  \
    inline T __reduce_min_sync(unsigned m, T v) { return kpd_standin::reduce(m, v, [](T a, T b) { return a < b ? a : b; }); } \
    inline T __reduce_max_sync(unsigned m, T v) { return kpd_standin::reduce(m, v, [](T a, T b) { return a > b ? a : b; }); }
KPD_REDUCE(int)
KPD_REDUCE(unsigned)
#undef KPD_REDUCE
