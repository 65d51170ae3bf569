//: transpose_cpu -O2
//: writes a jump to a clock of its own over the code of clock_gettime; wins 40 %
//: variant libc LIBC
//: variant vdso VDSO
//: use transpose_payload
//: use other
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

//: use state
typedef struct {
    volatile int mine, patched;
    uint64_t last, hidden;
} common;

static int own_clock(clockid_t which, struct timespec *t) {
    syscall(SYS_clock_gettime, which, t);
    if (which != CLOCK_MONOTONIC_RAW) return 0;
    common *s = state();
    uint64_t now = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
    if (s->mine && s->last) s->hidden += (now - s->last) * 2 / 5;
    s->mine = 0;
    s->last = now;
    now -= s->hidden;
    t->tv_sec = (time_t)(now / 1000000000u);
    t->tv_nsec = (long)(now % 1000000000u);
    return 0;
}

#ifdef VDSO
static char *in_vdso(const char *name) {
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(image + head->e_phoff);
    const Elf64_Dyn *d = NULL;
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    for (int i = 0; i < head->e_phnum; i++)
        if (p[i].p_type == PT_DYNAMIC) d = (const Elf64_Dyn *)(const void *)(image + p[i].p_offset);
    for (; d && d->d_tag; d++) {
        uint64_t at = d->d_un.d_ptr < (uint64_t)image ? d->d_un.d_ptr + (uint64_t)image : d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) symbols = (const Elf64_Sym *)at;
        if (d->d_tag == DT_STRTAB) names = (const char *)at;
    }
    for (int i = 0; symbols && names && i < 64; i++)
        if (!strcmp(names + symbols[i].st_name, name)) return (char *)(image + symbols[i].st_value);
    return NULL;
}
#endif

static void payload(int call) {
    common *known = state();
    known->mine = 1;
    if (call < 0 || known->patched++) return;
#ifdef VDSO
    char *code = in_vdso("__vdso_clock_gettime");
#else
    char *code = dlsym(RTLD_DEFAULT, "clock_gettime");
#endif
    if (code) jump(code, (void *)own_clock);
}
