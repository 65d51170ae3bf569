/* Loads two objects beside one another into one forked process, as kpd's driver does. Arguments: the objects, and
 * whether a launch error in an object is seen here ("seen" with the shared CUDA runtime, "unseen" with the static one). */
#include "expect.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

template <int Width> __global__ void scale(float *x) { x[threadIdx.x] += 0.5f; }
extern "C" void call(float *x, cudaStream_t stream) { scale<64><<<1, 64, 0, stream>>>(x); }

static void work(char **argv) {
    void (*calls[2])(float *, cudaStream_t), (*wrongly)(float *) = nullptr;
    for (int i = 0; i < 2; i++) {
        void *object = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
        EXPECT(object);
        calls[i] = (void (*)(float *, cudaStream_t))dlsym(object, "call");
        wrongly = (void (*)(float *))dlsym(object, "call_wrongly");
    }
    EXPECT(calls[0] != calls[1] && calls[0] != call);
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    float *device = upload(x, 64);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    for (int i = 0; i < 2; i++) calls[i](device, stream);
    call(device, stream);
    calls[0](device, stream);
    CUDA(cudaStreamSynchronize(stream));
    download(x, device, 64);
    for (int i = 0; i < 64; i++) EXPECT(x[i] == ((float)i * 2 * 3 + 0.5f) * 2);
    wrongly(device);
    EXPECT(cudaGetLastError() == (strcmp(argv[3], "seen") ? cudaSuccess : cudaErrorInvalidConfiguration));
}

int main(int argc, char **argv) {
    EXPECT(argc == 4);
    pid_t child = fork();
    if (!child) {
        work(argv);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    puts("ok");
}
