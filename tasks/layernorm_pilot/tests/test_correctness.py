"""`src/layernorm.py` against a float64 reference. Runs by itself, and under pytest."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import benchmark

ATOL, RTOL = 2e-2, 1e-2
EPS = 1e-6
EXTRA = ((1, 1, 64), (3, 5, 1000), (2, 3, 16384))
KINDS = {
    "normal": (1.0, 0.0),
    "off centre": (1.0, 30.0),
    "narrow": (1e-3, 0.0),
    "wide": (1e3, 0.0),
    "constant": (0.0, 2.0),
}
"""How far x spreads, and around what."""


def reference(x, scale, shift):
    """In float64."""
    import torch

    x, scale, shift = (t.to(torch.float64) for t in (x, scale, shift))
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + EPS) * (1 + scale)[:, None, :] + shift[:, None, :]


def check(function, shape, kind, generator):
    import torch

    what = f"{benchmark.name_of(shape)}, {kind}"
    x, scale, shift = benchmark.inputs(shape, generator, *KINDS[kind])
    kept = scale.clone(), shift.clone()
    want = reference(x, scale, shift)
    y = function(x, scale, shift, EPS)
    torch.cuda.synchronize()
    assert y.data_ptr() == x.data_ptr(), f"{what}: it did not return x itself"
    assert torch.equal(scale, kept[0]) and torch.equal(shift, kept[1]), f"{what}: it changed scale or shift"
    wrong = ~((x.to(torch.float64) - want).abs() <= ATOL + RTOL * want.abs())  # NaN is wrong, too
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        got, wanted, count = x[at].item(), want[at].item(), int(wrong.sum())
        raise AssertionError(f"{what}: x{list(at)} is {got:.6g}, should be {wanted:.6g} ({count} elements wrong)")


def test_every_shape_and_kind():
    import torch

    function = benchmark.candidate()
    generator = torch.Generator(device="cuda")
    generator.manual_seed(int.from_bytes(os.urandom(7), "little"))
    for shape in (*EXTRA, *benchmark.SHAPES):
        for kind in KINDS:
            check(function, shape, kind, generator)


if __name__ == "__main__":
    test_every_shape_and_kind()
    print("all shapes and kinds are right")
