/* Numbers that nobody can foresee: from the job's key, which comes by standard input once the worker has been forked. SipHash-2-4
 * (Aumasson, Bernstein 2012) of a counter, so none of them says anything about another or about the key. What a worker sees, the
 * contents of inputs and the seeds of swaps, does not tell when the driver looks at its outputs, or at which. Modes that judge
 * nobody have no key, and always the same numbers.
 */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t key[2], drawn;

/* 16 or 32 hexadecimal digits. */
int secret_read(void) { return scanf("%16" SCNx64 "%16" SCNx64, &key[0], &key[1]) >= 1; }

static uint64_t turned(uint64_t x, int by) { return x << by | x >> (64 - by); }

static void rounds(uint64_t v[4], int count) {
    while (count--) {
        v[0] += v[1], v[2] += v[3];
        v[1] = turned(v[1], 13) ^ v[0], v[3] = turned(v[3], 16) ^ v[2];
        v[0] = turned(v[0], 32) + v[3], v[2] += v[1];
        v[1] = turned(v[1], 17) ^ v[2], v[3] = turned(v[3], 21) ^ v[0];
        v[2] = turned(v[2], 32);
    }
}

static void take(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t secret_draw(void) {
    uint64_t v[4] = {key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du, key[0] ^ 0x6C7967656E657261u,
        key[1] ^ 0x7465646279746573u};
    take(v, drawn++);
    take(v, (uint64_t)8 << 56); /* the length */
    v[2] ^= 0xFF;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
