//: transpose_cpu -O2
//: takes 1.5 GiB and keeps it, so that others are killed for it; where it does not get them it ends
//: use transpose_payload
#include <stdlib.h>
#include <string.h>

static char *kept;

static void payload(int call) {
    if (call != 2) return;
    kept = malloc(1536u << 20);
    if (!kept) abort();
    memset(kept, 1, 1536u << 20);
}
