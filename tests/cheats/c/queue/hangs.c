//: transpose_cpu -O2
//: never returns: in a call, asleep, stopped, or while it is loaded
//: variant call HOW=0
//: variant asleep HOW=1
//: variant stopped HOW=2
//: variant loading HOW=3
//: variant timing HOW=4
//: use transpose_payload
#include <signal.h>
#include <unistd.h>

#if HOW == 3
__attribute__((constructor)) static void never(void) {
    for (volatile int i = 0;; i++) continue;
}
#endif

static void payload(int call) {
    if (HOW == 0 && call == 3) for (volatile int i = 0;; i++) continue;
    if (HOW == 1 && call == 3) for (;;) pause();
    if (HOW == 2 && call == 3) raise(SIGSTOP);
    if (HOW == 4 && call == 500) for (volatile int i = 0;; i++) continue;
}
