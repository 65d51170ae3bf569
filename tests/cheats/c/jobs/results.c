//: transpose_cpu -O2
//: writes results and outputs into the folders of all jobs, its own too; kpd reads them back as if they were its own
//: use transpose_payload
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

static void payload(int call) {
    static const char *const names[] = {"rc", "result", "result.json", "stdout", "done", "notes"};
    glob_t found;
    if (call || glob("../*", 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        for (int n = 0; n < 6; n++) {
            char path[700];
            snprintf(path, sizeof path, "%s/%s", found.gl_pathv[i], names[n]);
            int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (file < 0) continue;
            if (write(file, "{\"@NAME@\":0}\n", 15) < 0) return;
            close(file);
        }
    globfree(&found);
}
