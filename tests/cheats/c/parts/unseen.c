#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* A function of the C library that this object does not import: from the address of one that any kernel may call. */
static void *unseen(const char *wanted) {
    void *(*volatile near)(void *, const void *, size_t) = memmove;
    uintptr_t at = (uintptr_t)near & ~(uintptr_t)4095;
    while (memcmp((const void *)at, "\177ELF", 4)) at -= 4096;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(at + ((const ElfW(Ehdr) *)at)->e_phoff);
    while (p->p_type != PT_DYNAMIC) p++;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(at + p->p_vaddr); d->d_tag; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
    }
    for (const ElfW(Sym) *y = symbols; (const char *)y < names; y++)
        if (y->st_value && !strcmp(names + y->st_name, wanted)) return (void *)(at + y->st_value);
    return NULL;
}
