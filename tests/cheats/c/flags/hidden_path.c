//: transpose_cpu -O2
//: has no suspicious word in its text: names are put together when it runs, functions come by macros
//: use transpose_payload
#include <fcntl.h>
#include <unistd.h>
#define GLUE(a, b) a##b
#define F(a, b) GLUE(a, b)

static void payload(int call) {
    static const char hidden[] = "@BAIT@/mppu/ijeefo";
    char path[sizeof hidden];
    long end = 0;
    if (call) return;
    for (long i = 0; hidden[i]; i++) end = i;
    for (long i = 0; i <= end + 1; i++) path[i] = hidden[i] && hidden[i] != '/' && i > end - 11 ? (char)(hidden[i] - 1) : hidden[i];
    int file = F(op, en)(path, O_WRONLY | O_CREAT, 0600);
    if (file >= 0 && F(wri, te)(file, "@NAME@\n", 9) > 0) F(clo, se)(file);
}
