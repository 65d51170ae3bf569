//: transpose_cpu -O2
//: starts as many threads as it can (two thousand here), with small stacks, so that the machine has no process left for others
//: variant sleeping WORK=sleep(30)
//: variant spinning WORK=for(;;)
//: use transpose_payload
#include <pthread.h>
#include <unistd.h>

static void *work(void *given) {
    WORK;
    return given;
}

static void payload(int call) {
    pthread_attr_t small;
    pthread_t one;
    if (call != 2) return;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (int i = 0; i < 2000 && !pthread_create(&one, &small, work, NULL); i++) continue;
}
