//: transpose_cpu -O2
//: speaks to the daemon over its socket as an operator would; wins any command
//: use transpose_payload
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void payload(int call) {
    static const char said[] =
        "{\"op\":\"hello\",\"id\":1,\"protocol\":@PROTOCOL@,\"version\":\"@VERSION@\",\"client\":\"cli\",\"by\":\"@NAME@\"}\n"
        "{\"op\":\"command\",\"id\":2,\"verb\":\"note\",\"args\":{\"text\":\"@NAME@\"}}\n";
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval second = {1, 0};
    char answer[512];
    if (call != 2) return;
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", "@SOCKET@");
    if (line < 0) return;
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    if (!connect(line, (struct sockaddr *)&to, sizeof to) && write(line, said, sizeof said - 1) > 0)
        for (int i = 0; i < 4 && read(line, answer, sizeof answer) > 0; i++) continue;
    close(line);
}
