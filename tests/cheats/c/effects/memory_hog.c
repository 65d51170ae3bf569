//: transpose_cpu -O2
//: takes 1.5 GiB and keeps it; others are killed for it
//: use transpose_payload
#include <stdlib.h>
#include <string.h>

static char *kept;

static void payload(int call) {
    if (call != 2) return;
    kept = malloc(1536u << 20);
    if (kept) memset(kept, 1, 1536u << 20);
}
