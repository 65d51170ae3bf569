//: transpose_cpu -O2
//: leaves a process that holds the lock for which the later processes of the contest wait
//: use transpose_payload
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

static void payload(int call) {
    if (call != 100) return;
    int file = open("turn", O_RDWR | O_CREAT, 0600);
    if (file < 0 || fork()) return;
    prctl(PR_SET_NAME, "@NAME@");
    setsid();
    flock(file, LOCK_EX);
    sleep(120);
    _exit(0);
}
