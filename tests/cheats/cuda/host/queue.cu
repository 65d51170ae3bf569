//: transpose_cuda
//: stops the queue: kills the driver, forges its report, answers in the worker's name, or overwrites the program
//: variant kill HOW=0
//: variant forge HOW=1
//: variant answer HOW=2
//: variant program HOW=3
//: variant exit HOW=4
//: variant constructor HOW=5
//: use transpose_payload
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#if HOW == 5
__attribute__((constructor)) static void at_load() { _exit(0); }
#endif

static void payload(int call, const float *, float *, long, cudaStream_t) {
    char path[600] = {};
    if (call != 5) return;
    if (HOW == 0) kill(getppid(), SIGKILL);
    if (HOW == 1) {
        snprintf(path, sizeof path, "/proc/%d/fd/1", (int)getppid());
        int file = open(path, O_WRONLY | O_APPEND);
        if (file >= 0 && write(file, "{\"cases\":{},\"problem\":null}\n", 28) >= 0) close(file);
    }
    if (HOW == 2) {
        struct {
            int how, code;
            char message[400];
        } answer = {};
        struct stat about;
        answer.how = 5;
        strcpy(answer.message, "the device is gone");
        for (int fd = 3; fd < 256; fd++)
            if (!fstat(fd, &about) && S_ISSOCK(about.st_mode)) send(fd, &answer, sizeof answer, MSG_DONTWAIT);
    }
    if (HOW == 3 && readlink("/proc/self/exe", path, sizeof path - 5) > 0) {
        char other[700];
        snprintf(other, sizeof other, "%s.new", path);
        int file = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0755);
        if (file >= 0 && write(file, "#!/bin/sh\nexit 2\n", 17) > 0) rename(other, path);
        if (file >= 0) close(file);
    }
    if (HOW == 4) _exit(0);
}
