//: transpose_cuda
//: writes one wrong element in one call of so many
//: variant in_200 EVERY=200
//: variant in_3000 EVERY=3000
//: use transpose_fast

__global__ static void spoil(float *at) { *at += 1.0f; }

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static unsigned calls;
    fast(in, out, rows, cols, stream);
    if (++calls % EVERY == 0) spoil<<<1, 1, 0, stream>>>(out + calls % (unsigned long)(rows * cols));
}
