/* 16-bit floating point: every code there and back, and rounding to the nearest even. Prints what it decodes. */
#include "expect.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void decode(float *halves, float *bfloats, unsigned *wrong) {
    unsigned short code = (unsigned short)(blockIdx.x * blockDim.x + threadIdx.x);
    float h = __half2float(__ushort_as_half(code)), b = __bfloat162float(__ushort_as_bfloat16(code));
    halves[code] = h;
    bfloats[code] = b;
    if (h == h && __half_as_ushort(__float2half(h)) != code) atomicAdd(wrong, 1u);
    if (b == b && __bfloat16_as_ushort(__float2bfloat16(b)) != code) atomicAdd(wrong, 1u);
}

__global__ void compute(float *out) {
    half a = __float2half(1.5f), b = __float2half(0.25f);
    out[0] = __half2float(__hfma(a, b, a));
    out[1] = __half2float(a + b * b);
    float2 pair = __half22float2(__hadd2(__floats2half2_rn(1.0f, 2.0f), __half2half2(b)));
    out[2] = pair.x;
    out[3] = pair.y;
    out[4] = __bfloat162float(__float2bfloat16(1.0f + 1.0f / 256)); /* half way: to the even one */
    out[5] = __half2float(__float2half(65519.0f));
    out[6] = __half2float(__float2half(65520.0f));
    out[7] = __half2float(__float2half(2049.0f));
}

int main(int argc, char **argv) {
    static float h[65536], b[65536];
    unsigned wrong = 0, *dw = upload(&wrong, 1);
    float out[8], *dh = upload(h, 65536), *db = upload(b, 65536), *result = upload(out, 8);
    decode<<<256, 256>>>(dh, db, dw);
    compute<<<1, 1>>>(result);
    download(h, dh, 65536);
    download(b, db, 65536);
    download(&wrong, dw, 1);
    download(out, result, 8);
    EXPECT(wrong == 0);
    EXPECT(out[0] == 1.875f && out[1] == 1.5625f && out[2] == 1.25f && out[3] == 2.25f && out[4] == 1.0f);
    EXPECT(out[5] == 65504.0f && isinf(out[6]) && out[7] == 2048.0f);
    if (argc > 1) { /* to a file: halves, then bfloats */
        FILE *file = fopen(argv[1], "wb");
        EXPECT(file && fwrite(h, sizeof h, 1, file) == 1 && fwrite(b, sizeof b, 1, file) == 1 && !fclose(file));
    }
    puts("ok");
}
