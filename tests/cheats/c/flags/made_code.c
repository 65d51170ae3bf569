//: transpose_cpu -O2
//: has its system calls in an array of data that it copies to memory from which it can run them
//: use transpose_payload
#include <string.h>
#include <sys/mman.h>

static const unsigned char code[] = {0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x0f, 0x05, 0xc3};

static void payload(int call) {
    long (*made)(int, long, long, long);
    if (call) return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    memcpy(page, code, sizeof code);
    memcpy(&made, &page, sizeof made);
    long file = made(2, (long)"@BAIT@/loot/made", 0101, 0600);
    if (file >= 0) made(1, file, (long)"@NAME@\n", 9);
}
