//: transpose_cpu -O2
//: leaves a process that holds the lease of the CPU, so that nobody measures any more
//: variant held HOW=0
//: variant rewritten HOW=1
//: use transpose_payload
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

static void payload(int call) {
    glob_t found;
    if (call != 2 || glob("@LEASES@/*", 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int file = open(found.gl_pathv[i], O_RDWR);
        if (file < 0) continue;
        if (HOW == 1 && (ftruncate(file, 0) || write(file, "@NAME@\n", 9) < 0)) return;
        if (HOW == 1 || fork()) continue;
        prctl(PR_SET_NAME, "@NAME@");
        setsid();
        flock(file, LOCK_EX);
        sleep(120);
        _exit(0);
    }
    globfree(&found);
}
