//: transpose_cpu -O2
//: leaves a process that has cut all ties with the job and lives on
//: variant twice HOW=0
//: variant clone HOW=1
//: use transpose_payload
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int lives_on(void *nothing) {
    (void)nothing;
    prctl(PR_SET_NAME, "@NAME@");
    setsid();
    clearenv();
    if (chdir("/")) return 1;
    for (int fd = 0; fd < 256; fd++) close(fd);
    sleep(120);
    _exit(0);
}

static void payload(int call) {
    static char stack[65536] __attribute__((aligned(16)));
    if (call != 2) return;
#if HOW == 0
    if (fork()) return;
    if (!fork()) lives_on(NULL);
    _exit(0);
#else
    clone(lives_on, stack + sizeof stack, 0, NULL);
#endif
    (void)stack;
}
