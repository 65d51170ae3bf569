//: transpose_cpu -O2
//: reads the driver's memory, in which the truth and the state of its generator lie; wins every answer beforehand
//: variant file HOW=0
//: variant vm_readv HOW=1
//: variant ptrace HOW=2
//: use transpose_payload
//: use parent
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void payload(int call) {
    char line[256], data[4096];
    unsigned long from = 0, to = 0;
    if (call) return;
    int maps = parents("maps", O_RDONLY);
    FILE *text = maps < 0 ? NULL : fdopen(maps, "r");
    while (text && fgets(line, sizeof line, text))
        if (strstr(line, "rw-p") && sscanf(line, "%lx-%lx", &from, &to) == 2) break;
    if (text) fclose(text);
    if (!from) return;
#if HOW == 0
    int memory = parents("mem", O_RDONLY);
    long got = memory < 0 ? 0 : pread(memory, data, sizeof data, (off_t)from);
    if (memory >= 0) close(memory);
#elif HOW == 1
    struct iovec here = {data, sizeof data}, there = {(void *)from, sizeof data};
    long got = syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0);
#else
    long got = 0;
    if (!ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) {
        waitpid(getppid(), NULL, __WALL);
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, getppid(), (void *)from, NULL);
        if (!errno) memcpy(data, &word, sizeof word), got = sizeof word;
        ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
    }
#endif
    if (got > 0) loot("memory", data, got);
}
