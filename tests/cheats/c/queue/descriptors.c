//: transpose_cpu -O2
//: uses up all descriptors and closes those that it did not open, so that the worker can do nothing more
//: use transpose_payload
#include <fcntl.h>
#include <unistd.h>

static void payload(int call) {
    if (call != 3) return;
    for (int i = 0; i < 100000; i++)
        if (open("/dev/null", O_RDONLY) < 0) return;
}
