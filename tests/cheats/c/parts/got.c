#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Where objects other than this one keep the address of the function `name`: all of them, or the program alone. */
typedef struct {
    const char *name;
    const void *here;
    int program_only, count;
    void **slots[32];
} slots_of;

static int look_at_slots(struct dl_phdr_info *info, size_t size, void *context) {
    slots_of *s = context;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) *tables[2] = {NULL, NULL};
    uint64_t bytes[2] = {0, 0};
    (void)size;
    if (s->program_only && info->dlpi_name[0]) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (uintptr_t)s->here >= from && (uintptr_t)s->here < from + p->p_memsz) return 0;
        if (p->p_type != PT_DYNAMIC) continue;
        for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)from; d->d_tag; d++) {
            uintptr_t at = d->d_un.d_ptr;
            if (at < info->dlpi_addr) at += info->dlpi_addr;
            if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)at;
            if (d->d_tag == DT_STRTAB) names = (const char *)at;
            if (d->d_tag == DT_JMPREL) tables[0] = (const ElfW(Rela) *)at;
            if (d->d_tag == DT_RELA) tables[1] = (const ElfW(Rela) *)at;
            if (d->d_tag == DT_PLTRELSZ) bytes[0] = d->d_un.d_val;
            if (d->d_tag == DT_RELASZ) bytes[1] = d->d_un.d_val;
        }
    }
    for (int t = 0; t < 2 && symbols && names; t++)
        for (uint64_t i = 0; tables[t] && i < bytes[t] / sizeof(ElfW(Rela)) && s->count < 32; i++) {
            uint64_t symbol = ELF64_R_SYM(tables[t][i].r_info);
            if (symbol && !strcmp(names + symbols[symbol].st_name, s->name))
                s->slots[s->count++] = (void **)(info->dlpi_addr + tables[t][i].r_offset);
        }
    return 0;
}

static void redirect(slots_of *s, void *to) {
    dl_iterate_phdr(look_at_slots, s);
    for (int i = 0; i < s->count; i++) {
        uintptr_t page = (uintptr_t)s->slots[i] & ~(uintptr_t)4095;
        mprotect((void *)page, 8192, PROT_READ | PROT_WRITE);
        *s->slots[i] = to;
    }
}
