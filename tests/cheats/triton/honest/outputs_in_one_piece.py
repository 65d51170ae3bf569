#: matmul_triton
#: larger tiles; takes memory for eight outputs at once, and gives each call one of them
#: use matmul

left = {}


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    if not left.get((m, n)):
        left[m, n] = list(torch.empty((8, m, n), dtype=a.dtype, device=a.device).unbind())
    c = left[m, n].pop()
    high, wide, warps = (128, 128, 8) if m >= 1024 and n >= 1024 else (64, 64, 4) if m > 16 else (16, 64, 4)
    grid = (triton.cdiv(m, high), triton.cdiv(n, wide))
    matmul_kernel[grid](a, b, c, m, n, k, BLOCK_M=high, BLOCK_N=wide, BLOCK_K=64, num_warps=warps, num_stages=3)
    return c
