// Arithmetic modulo a prime below 2^31, which the build chooses. The same code runs on the GPU and on the host.
#pragma once
#include <stdint.h>

namespace field {

constexpr uint32_t kPrime = PROVER_FIELD;

__host__ __device__ inline uint32_t add(uint32_t a, uint32_t b) {
    uint32_t sum = a + b;
    return sum >= kPrime ? sum - kPrime : sum;
}

__host__ __device__ inline uint32_t mul(uint32_t a, uint32_t b) { return (uint64_t)a * b % kPrime; }

}  // namespace field
