"""Launches kernels through PyTorch and Triton, and prints what it launched: a record of this program has to agree."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_add(x, y, out, count, factor, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * block + tl.arange(0, block)
    kept = at < count
    tl.store(out + at, tl.load(x + at, mask=kept) + factor * tl.load(y + at, mask=kept), mask=kept)


def main() -> None:
    x = torch.ones(100_000, device="cuda")
    out = torch.empty_like(x)
    for count in (1_000, 33_333, 100_000):
        blocks = triton.cdiv(count, 256)
        sys.stdout.write(f"LAUNCH scaled_add {blocks},1,1 count={count} factor=0.75\n")
        scaled_add[(blocks,)](x, x, out, count, 0.75, block=256)
    for _ in range(3):
        x = torch.softmax(x.view(100, 1000), dim=1).view(-1)
    graph = torch.cuda.CUDAGraph()
    still = torch.ones(4096, device="cuda")
    with torch.cuda.graph(graph):
        after = torch.add(still, still, alpha=3)
    for _ in range(4):
        graph.replay()
    torch.cuda.synchronize()
    sys.stdout.write(f"SUM {out.sum().item():.9g} {x.sum().item():.9g} {after.sum().item():.9g}\n")


main()
