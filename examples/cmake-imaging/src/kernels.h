// What src/kernels.cu exports to the library. Images are width x height bytes in the host's memory.
#pragma once
#include <cstdint>

extern "C" {
// Return 0, or CUDA's error.
int imaging_devices(int *count);
int imaging_run(const uint8_t *in, uint8_t *out, int width, int height, int radius, int amount, unsigned histogram[256]);
}
