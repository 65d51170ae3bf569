//: transpose_cpu -O2
//: adds a line to what the operator's shell reads at its start
//: use transpose_payload
#include <fcntl.h>
#include <unistd.h>

static void payload(int call) {
    int file = call ? -1 : open("@BAIT@/home/.bashrc", O_WRONLY | O_APPEND);
    if (file < 0) return;
    if (write(file, "# @NAME@\n", 11) < 0) return;
    close(file);
}
