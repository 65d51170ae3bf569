//: transpose_cpu -O2
//: opens a connection, by which it could send the operator's sources away
//: use transpose_payload
//: use loot
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void payload(int call) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof here;
    if (call) return;
    int listens = socket(AF_INET, SOCK_STREAM, 0), speaks = socket(AF_INET, SOCK_STREAM, 0);
    if (listens >= 0 && speaks >= 0 && !bind(listens, (struct sockaddr *)&here, sizeof here) && !listen(listens, 1) &&
        !getsockname(listens, (struct sockaddr *)&here, &size) && !connect(speaks, (struct sockaddr *)&here, size))
        loot("connected", "yes", 3);
    if (listens >= 0) close(listens);
    if (speaks >= 0) close(speaks);
}
