//: transpose_cpu -O2
//: fills the job's folder and the shared ones with files of 1 MB (200 of them here)
//: use transpose_payload
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void payload(int call) {
    static char text[1 << 20];
    char path[128];
    if (call != 2) return;
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof path, i % 2 ? "/tmp/@NAME@_%d" : "out/@NAME@_%d", i);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        if (file < 0) return;
        if (write(file, text, sizeof text) < 0) return;
        close(file);
    }
}
