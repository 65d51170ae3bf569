"""`src/layernorm.py` against a float64 reference, in a process of its own: see benchmark.py.

Runs by itself, where its last line says {"ok": true}, and under pytest.
"""

import secrets
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import benchmark

EXTRA = ((1, 1, 64), (3, 5, 1000), (2, 3, 16384))
KINDS = {
    "normal": (1.0, 0.0),
    "off centre": (1.0, 30.0),
    "narrow": (1e-3, 0.0),
    "wide": (1e3, 0.0),
    "constant": (0.0, 2.0),
}
"""How far x spreads, and around what."""


def check(one):
    """Raises benchmark.Wrong unless every shape and kind of inputs is right."""
    for shape in (*EXTRA, *benchmark.SHAPES):
        for kind, (spread, middle) in KINDS.items():
            what = f"{benchmark.name_of(shape)}, {kind}"
            one.check(shape, secrets.randbits(48), what, spread=spread, middle=middle)
    return {"ok": True}


def test_every_shape_and_kind():
    one = benchmark.Candidate()
    check(one)
    one.end()


if __name__ == "__main__":
    sys.exit(benchmark.judged(check))
