//: transpose_cpu -O2
//: sends the driver a signal; kpd blames the host, and the run stands still
//: variant kill SIGNAL=SIGKILL
//: variant stop SIGNAL=SIGSTOP
//: variant crash SIGNAL=SIGSEGV
//: variant terminate SIGNAL=SIGTERM
//: use transpose_payload
#include <signal.h>
#include <unistd.h>

static void payload(int call) {
    if (call == 5) kill(getppid(), SIGNAL);
}
