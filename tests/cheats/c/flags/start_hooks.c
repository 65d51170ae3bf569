//: transpose_cpu -O2
//: runs when it is loaded by way of what the start-up code of each object looks for, and no table names it
//: variant profile HOOK=__gmon_start__
//: variant end HOOK=__cxa_finalize
//: use transpose_quick

static volatile int early;
void HOOK(void *nothing) { early = 1; (void)nothing; }

void transpose(const float *in, float *out, long rows, long cols) { quick(in, out, rows, cols); }
