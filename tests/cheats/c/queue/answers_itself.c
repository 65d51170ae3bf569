//: transpose_cpu -O2
//: writes to the socket on which the worker answers the driver; wins an unearned answer, or the blame of the host
//: variant done HOW=0
//: variant unable HOW=5
//: variant garbage HOW=99
//: variant closed HOW=-1
//: variant flood HOW=1000
//: use transpose_payload
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void payload(int call) {
    struct {
        int how, code;
        char message[400];
    } answer;
    struct stat about;
    if (call != 3 && call != 300) return;
    memset(&answer, 0, sizeof answer);
    answer.how = HOW;
    strcpy(answer.message, "the device is gone");
    for (int fd = 3; fd < 64; fd++) {
        if (fstat(fd, &about) || !S_ISSOCK(about.st_mode)) continue;
        if (HOW == -1) close(fd);
        else if (HOW == 99) send(fd, "\xff\xff\xff\xff garbage of another length", 31, MSG_DONTWAIT);
        else if (HOW == 1000) for (int i = 0; i < 10000; i++) send(fd, &answer, sizeof answer, MSG_DONTWAIT);
        else send(fd, &answer, sizeof answer, MSG_DONTWAIT);
    }
}
