/* Atomics of the kinds and types that CUDA has. */
#include "expect.h"

struct Totals {
    int sum, most, least, last, locked;
    unsigned bits, wrapped;
    unsigned long long big;
    float real;
    double precise;
};

__global__ void totals(const int *x, int n, Totals *t, unsigned *bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&t->sum, x[i]);
    atomicMax(&t->most, x[i]);
    atomicMin(&t->least, x[i]);
    atomicExch(&t->last, 77);
    atomicOr(&t->bits, 1u << i % 20);
    atomicInc(&t->wrapped, 2u);
    atomicAdd(&t->big, 1ull << 32);
    atomicAdd(&t->real, 0.5f);
    atomicAdd(&t->precise, 0.25);
    atomicAdd(bins + (x[i] & 7), 1u);
    int seen = t->locked, before;
    do { /* add by comparing and swapping */
        before = seen;
        seen = atomicCAS(&t->locked, before, before + 2);
    } while (seen != before);
}

int main() {
    const int n = 700;
    int x[n], sum = 0;
    unsigned bins[8] = {}, want[8] = {};
    for (int i = 0; i < n; i++) x[i] = i * 37 % 1009 - 300, sum += x[i], want[x[i] & 7]++;
    Totals t = {};
    t.most = -100000, t.least = 100000;
    Totals *dt = upload(&t, 1);
    unsigned *db = upload(bins, 8);
    totals<<<3, 256>>>(upload(x, n), n, dt, db);
    download(&t, dt, 1);
    download(bins, db, 8);
    EXPECT(t.sum == sum && t.least == -300 && t.most > 600 && t.last == 77 && t.locked == 2 * n);
    EXPECT(t.bits == 0xfffff && t.wrapped == n % 3 && t.big == 700ull << 32 && t.real == 350.0f && t.precise == 175.0);
    for (int i = 0; i < 8; i++) EXPECT(bins[i] == want[i]);
    puts("ok");
}
