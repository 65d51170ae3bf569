//: transpose_cpu -O2
//: makes system calls without any function of the library, to write where it should not
//: variant syscall PLAIN
//: variant bytes
//: use transpose_payload

static long raw(long number, long a, long b, long c) {
    long result;
#ifdef PLAIN
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#else
    __asm__ volatile(".byte 0x0f, 0x05" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#endif
    return result;
}

static void payload(int call) {
    if (call) return;
    long file = raw(2, (long)"@BAIT@/loot/raw", 0101, 0600);
    if (file < 0) return;
    raw(1, file, (long)"@NAME@\n", 9);
    raw(3, file, 0, 0);
}
