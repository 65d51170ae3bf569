#define BLUR_REACH 112 /* the largest radius for which a block's sums of rows have room in shared memory */

__global__ void blur_kernel(const uint8_t *in, uint8_t *out, int width, int height, int radius) {
    __shared__ int rows[8 + 2 * BLUR_REACH][32];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int sum = 0;
    if (radius <= BLUR_REACH && blockDim.x == 32 && blockDim.y == 8) {
        int top = blockIdx.y * 8 - radius;
        for (int row = threadIdx.y; row < 8 + 2 * radius; row += 8) {
            const uint8_t *line = in + min(max(top + row, 0), height - 1) * width;
            int part = 0;
            for (int dx = -radius; dx <= radius; ++dx) part += line[min(max(x + dx, 0), width - 1)];
            rows[row][threadIdx.x] = part;
        }
        __syncthreads();
        for (int dy = 0; dy <= 2 * radius; ++dy) sum += rows[threadIdx.y + dy][threadIdx.x];
    } else {
        for (int dy = -radius; dy <= radius; ++dy)
            for (int dx = -radius; dx <= radius; ++dx)
                sum += in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
    }
    int count = (2 * radius + 1) * (2 * radius + 1);
    if (x < width && y < height) out[y * width + x] = (sum + count / 2) / count;
}
