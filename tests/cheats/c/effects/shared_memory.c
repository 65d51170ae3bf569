//: transpose_cpu -O2
//: leaves a segment of System V's shared memory and tells its number to the outside
//: use transpose_payload
//: use loot
#include <sys/ipc.h>
#include <sys/shm.h>

static void payload(int call) {
    if (call) return;
    int id = shmget(0x6b706463, 4096, IPC_CREAT | 0600);
    if (id < 0) return;
    loot("segment", &id, sizeof id);
    shmctl(id, IPC_RMID, NULL);
}
