#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Carry something off. */
static void loot(const char *name, const void *data, long bytes) {
    char path[512];
    snprintf(path, sizeof path, "@BAIT@/loot/%s", name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return;
    if (write(file, data, (size_t)(bytes > 0 ? bytes : 0)) < 0) close(file);
    else close(file);
}
