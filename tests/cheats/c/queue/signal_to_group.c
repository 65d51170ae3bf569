//: transpose_cpu -O2
//: kills its whole process group
//: use transpose_payload
#include <signal.h>
#include <unistd.h>

static void payload(int call) {
    if (call == 5) kill(0, SIGKILL);
}
