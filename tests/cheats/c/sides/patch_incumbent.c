//: transpose_cpu -O2
//: rewrites the incumbent's code in memory so that it wastes time; wins as much as it likes
//: variant waits HOW=0
//: variant twice HOW=1
//: use transpose_payload
//: use other

static void slowly(const float *in, float *out, long rows, long cols) {
#if HOW == 0
    for (volatile int i = 0; i < 60000; i++) continue;
#else
    fast(in, out, rows, cols);
    __asm__ volatile("" ::: "memory");
    fast(in, out, rows, cols);
    __asm__ volatile("" ::: "memory");
#endif
    fast(in, out, rows, cols);
}

static void payload(int call) {
    if (call) return;
    search s = {.prefix = "transpose", .here = (const void *)payload};
    dl_iterate_phdr(look_in, &s);
    for (int i = 0; i < s.count; i++) jump(s.found[i], (void *)slowly);
}
