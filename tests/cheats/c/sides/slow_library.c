//: rmsnorm_silu_cpu -O3 -march=native
//: makes the library's expf, which only the incumbent calls, slow; wins twice the time of an exp
//: variant table TABLE
//: variant code CODE
//: use rmsnorm_payload
//: use other
//: use got
#include <dlfcn.h>

static float slowly(float v) {
    for (volatile int i = 0; i < 20; i++) continue;
    return (float)exp((double)v);
}

static void payload(int call) {
    if (call) return;
#ifdef TABLE
    slots_of s = {.name = "expf", .here = (const void *)payload};
    redirect(&s, (void *)slowly);
#else
    char *code = dlsym(RTLD_DEFAULT, "expf");
    if (code) jump(code, (void *)slowly);
#endif
}
