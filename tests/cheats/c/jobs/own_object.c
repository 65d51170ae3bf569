//: transpose_cpu -O2
//: replaces its own built object after the check, so that what is timed is not what was checked
//: use transpose_payload
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void payload(int call) {
    Dl_info about;
    char other[700], buffer[4096];
    if (call != 10 || !dladdr((void *)payload, &about)) return;
    snprintf(other, sizeof other, "%s.@NAME@", about.dli_fname);
    int from = open(about.dli_fname, O_RDONLY), to = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    long got = 0;
    while (from >= 0 && to >= 0 && (got = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, (size_t)got) != got) return;
    if (to >= 0 && write(to, "@NAME@", 8) == 8) rename(other, about.dli_fname);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
}
