//: transpose_cpu -O2
//: prints 100 MB, which kpd keeps, sends and stores
//: variant stderr STREAM=2
//: variant stdout STREAM=1
//: use transpose_payload
#include <string.h>
#include <unistd.h>

static void payload(int call) {
    static char text[1 << 16];
    if (call != 2) return;
    memset(text, 'k', sizeof text);
    for (int i = 0; i < 1600; i++)
        if (write(STREAM, text, sizeof text) < 0) return;
}
