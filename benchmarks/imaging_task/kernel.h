/* The kernel's contract: out[y * width + x] is the mean, rounded, of the pixels of `in` that are at most `radius` away from
 * (x, y) in each direction; beyond an edge the pixel at the edge counts. Both lie in the device's memory, do not overlap. */
#ifndef BLUR_H
#define BLUR_H
#include <cstdint>
void blur(const uint8_t *in, uint8_t *out, long width, long height, long radius, cudaStream_t stream);
#endif
