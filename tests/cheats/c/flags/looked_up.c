//: transpose_cpu -O2
//: finds functions of the library by name while it runs, so that it imports none of them
//: variant dlsym HOW=0
//: variant headers HOW=1
//: use transpose_payload
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#if HOW == 1
extern struct r_debug _r_debug __attribute__((weak));

static void *by_hand(const char *wanted) {
    for (struct link_map *m = &_r_debug ? _r_debug.r_map : NULL; m; m = m->l_next) {
        const ElfW(Sym) *symbols = NULL;
        const char *names = NULL;
        if (!strstr(m->l_name, "libc.so")) continue;
        for (const ElfW(Dyn) *d = m->l_ld; d->d_tag; d++) {
            if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
            if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
        }
        for (const ElfW(Sym) *y = symbols; y && (const char *)y < names; y++)
            if (!strcmp(names + y->st_name, wanted)) return (void *)(m->l_addr + y->st_value);
    }
    return NULL;
}
#else
static void *by_hand(const char *wanted) { return dlsym(RTLD_DEFAULT, wanted); }
#endif

static void payload(int call) {
    int (*run)(const char *) = NULL;
    if (call) return;
    void *found = by_hand("system");
    memcpy(&run, &found, sizeof run);
    if (run && run("id > @BAIT@/loot/looked_up")) return;
}
