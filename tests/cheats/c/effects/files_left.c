//: transpose_cpu -O2
//: leaves files where all processes of the machine have them
//: variant tmp PLACE="/tmp/@NAME@_left"
//: variant var_tmp PLACE="/var/tmp/@NAME@_left"
//: variant shm PLACE="/dev/shm/@NAME@_left"
//: use transpose_payload
#include <fcntl.h>
#include <unistd.h>

static void payload(int call) {
    int file = call ? -1 : open(PLACE, O_WRONLY | O_CREAT, 0644);
    if (file < 0) return;
    if (write(file, "left\n", 5) < 0) return;
    close(file);
}
