//: transpose_cpu -O2
//: kills or stops what supervises the job, further up than the driver; the job's end is never known
//: variant kill SIGNAL=SIGKILL
//: variant stop SIGNAL=SIGSTOP
//: use transpose_payload
//: use parent
#include <signal.h>

static void payload(int call) {
    char path[64], text[4096];
    if (call != 5) return;
    for (int pid = parent_of(getppid()), up = 0; pid > 1 && up < 2; pid = parent_of(pid), up++) {
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        int file = open(path, O_RDONLY);
        long got = file < 0 ? 0 : read(file, text, sizeof text);
        if (file >= 0) close(file);
        for (long i = 0; i + 15 < got; i++)
            if (!memcmp(text + i, "KPD_CHEATS_HOME", 15)) { /* of this benchmark, and of nobody else */
                kill(pid, SIGNAL);
                return;
            }
        snprintf(path, sizeof path, "/proc/%d/cwd", pid);
        got = readlink(path, text, sizeof text - 1);
        if (got > 0 && (text[got] = 0, strstr(text, "kpd-cheats-"))) {
            kill(pid, SIGNAL);
            return;
        }
    }
}
