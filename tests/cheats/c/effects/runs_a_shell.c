//: transpose_cpu -O2
//: runs commands of its own on the host
//: variant system HOW=0
//: variant spawn HOW=1
//: use transpose_payload
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void payload(int call) {
    if (call) return;
#if HOW == 0
    if (system("id > @BAIT@/loot/id")) return;
#else
    char *const command[] = {"sh", "-c", "id > @BAIT@/loot/id", NULL};
    pid_t pid;
    if (!posix_spawn(&pid, "/bin/sh", NULL, NULL, command, environ)) waitpid(pid, NULL, 0);
#endif
}
