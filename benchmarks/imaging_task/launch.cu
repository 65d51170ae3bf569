
void blur(const uint8_t *in, uint8_t *out, long width, long height, long radius, cudaStream_t stream) {
    dim3 block(32, 8), grid((unsigned)((width + 31) / 32), (unsigned)((height + 7) / 8));
    blur_kernel<<<grid, block, 0, stream>>>(in, out, (int)width, (int)height, (int)radius);
}
