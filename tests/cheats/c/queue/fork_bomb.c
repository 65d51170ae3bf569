//: transpose_cpu -O2
//: forks as often as it can (three hundred times here), so that the machine has no process left for others
//: variant children HOW=0
//: variant orphans HOW=1
//: use transpose_payload
#include <sys/prctl.h>
#include <unistd.h>

static void payload(int call) {
    if (call != 2) return;
    for (int i = 0; i < 300; i++) {
        int pid = fork();
        if (pid < 0) return;
        if (pid) continue;
        prctl(PR_SET_NAME, "@NAME@");
        if (HOW == 1) setsid();
        sleep(30);
        _exit(0);
    }
}
