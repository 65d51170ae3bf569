//: transpose_cpu -O2
//: ends or crashes the worker in one of many ways, in the check or late in a timing
//: variant exit HOW=0 AT=3
//: variant quick_exit HOW=1 AT=400
//: variant abort HOW=2 AT=3
//: variant fault HOW=3 AT=400
//: variant kill HOW=4 AT=400
//: variant stack HOW=5 AT=3
//: variant alarm HOW=6 AT=3
//: variant processor HOW=7 AT=3
//: use transpose_payload
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int deep(int n) {
    volatile char room[65536];
    room[n % 65536] = (char)n;
    return deep(n + 1) + room[0];
}

static void payload(int call) {
    struct rlimit none = {0, 0};
    if (call != AT) return;
    if (HOW == 0) exit(0);
    if (HOW == 1) _exit(0);
    if (HOW == 2) abort();
    if (HOW == 3) *(volatile int *)8 = 1;
    if (HOW == 4) raise(SIGKILL);
    if (HOW == 5) exit(deep(0));
    if (HOW == 6) alarm(1), sleep(3);
    if (HOW == 7) setrlimit(RLIMIT_CPU, &none);
}
