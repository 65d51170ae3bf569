//: transpose_cpu -O2
//: finds the record of times in the memory that it shares with the driver, and changes it; wins as much as it likes
//: variant stretch_a SIDE=0 TIMES=3/2
//: variant shrink_b SIDE=1 TIMES=2/3
//: use transpose_payload
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    int reps, quads, sets;
    uint64_t swaps, ns[2][512];
} record;

//: use state
typedef struct {
    record *found;
    uint64_t done;
    int at, calls;
} common;

static record *find(void) {
    record *found = NULL;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-s") || strstr(line, "/dev/nv")) continue;
        for (unsigned long at = from; at + sizeof(record) <= to && at < from + (1 << 16); at += 8) {
            record *r = (record *)at;
            if (r->reps > 0 && r->reps <= 100000 && r->quads == 64 && r->sets == 1 && r->swaps > 0) found = r;
            if (found) break;
        }
    }
    if (maps) fclose(maps);
    return found;
}

static void payload(int call) {
    common *s = state();
    (void)call;
    if (++s->calls < 100) return;
    if (!s->found && s->calls % 10 == 0) s->found = find();
    if (!s->found) return;
    if (s->found->swaps < s->done) s->at = 0;
    s->done = s->found->swaps;
    while (s->at < 128 && s->found->ns[SIDE][s->at] && s->found->ns[SIDE][s->at + 1]) {
        s->found->ns[SIDE][s->at] = s->found->ns[SIDE][s->at] * TIMES;
        s->at++;
    }
}
