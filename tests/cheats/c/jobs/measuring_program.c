//: transpose_cpu -O2
//: puts another program in the place of the one that measures; it can say what it likes from then on
//: variant exe HOW=0
//: variant search HOW=1
//: use transpose_payload
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void replace(const char *path) {
    char other[700];
    static const char script[] = "#!/bin/sh\n# @NAME@\nexit 2\n";
    snprintf(other, sizeof other, "%s.new", path);
    int file = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    if (file < 0) return;
    if (write(file, script, sizeof script - 1) > 0) rename(other, path);
    close(file);
}

static void payload(int call) {
    char path[600] = {0};
    if (call) return;
#if HOW == 0
    if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) replace(path);
#else
    glob_t found;
    if (glob("../*/out/bench", 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) replace(found.gl_pathv[i]);
    globfree(&found);
    (void)path;
#endif
}
