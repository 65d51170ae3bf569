//: transpose_cpu -O2
//: goes wrong only in the processes of one kind of measurement, which it knows by the driver's arguments on the stack
//: variant crash_fresh MODE="\0fresh" HOW=0
//: variant hang_solo MODE="\0solo" HOW=1
//: variant crash_repeat MODE="\0repeat" HOW=0
//: variant hang_time MODE="\0time" HOW=1
//: use transpose_payload
#include <string.h>

static void payload(int call) {
    const char *at = __builtin_frame_address(0);
    if (call != 20) return;
    for (long i = 0; i < 1 << 15; i++) {
        if (memcmp(at + i, MODE, sizeof MODE)) continue;
        if (HOW) for (;;) __asm__ volatile("");
        __builtin_trap();
    }
}
