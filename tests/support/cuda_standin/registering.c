/* In an object of its own, so that a linker can wrap what calls it. */
#include <stddef.h>

__attribute__((weak)) void __cudaRegisterVar(
    void **binary, char *variable, char *address, const char *name, int external, size_t bytes, int constant, int global) {
    (void)binary, (void)variable, (void)address, (void)name, (void)external, (void)bytes, (void)constant, (void)global;
}
