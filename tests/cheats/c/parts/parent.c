//: use loot
#include <stdlib.h>

/* A file of the parent's folder in /proc. */
static int parents(const char *name, int how) {
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
    return open(path, how);
}

/* The parent of a process; 0 where it is not known. */
static int parent_of(int pid) {
    char path[64], text[512] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    long got = read(file, text, sizeof text - 1);
    close(file);
    char *end = got > 0 ? strrchr(text, ')') : NULL;
    return end ? atoi(end + 4) : 0;
}
