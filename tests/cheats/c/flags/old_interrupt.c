//: transpose_cpu -O2
//: makes a system call by the interrupt of 32-bit programs
//: use transpose_payload
#include <sys/mman.h>
#include <string.h>

static void payload(int call) {
    long result = 20;
    if (call) return;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) return;
    strcpy(low, "/tmp/@NAME@_old");
    result = 5;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(0101), "d"(0600) : "memory", "r8", "r9", "r10", "r11");
}
