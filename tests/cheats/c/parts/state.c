#include <sys/mman.h>

/* Memory that all copies of this object have in common: kpd loads it in several layouts, each with statics of its own. */
static void *state(void) {
    static void *at;
    if (!at) {
        at = (void *)0x510000000000;
        mmap(at, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000, -1, 0);
    }
    return at;
}
