"""What is known of the machine before anything is measured: what an SM holds.

Limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True)
class Sm:
    """What one SM holds at once; `shared_kb` is all of its shared memory, `block_kb` the most of it for one block."""

    warps: int
    blocks: int
    shared_kb: int
    block_kb: int


_LIMITS: dict[str, Sm] = {
    "70": Sm(64, 32, 96, 96),
    "75": Sm(32, 16, 64, 64),
    "80": Sm(64, 32, 164, 163),
    "86": Sm(48, 16, 100, 99),
    "87": Sm(48, 16, 164, 163),
    "89": Sm(48, 24, 100, 99),
    "90": Sm(64, 32, 228, 227),
    "100": Sm(64, 32, 228, 227),
    "103": Sm(64, 32, 228, 227),
    "120": Sm(48, 24, 100, 99),
    "121": Sm(48, 24, 100, 99),
}


def kind_of(arch: str) -> Kind:
    """An `arch` is "sm_90" and the like, or that of a CPU."""
    return "gpu" if arch.startswith("sm_") else "cpu"


def described(device: str, arch: str) -> str:
    """The device, and what an SM holds where that is known."""
    name = f"{device or 'not named'}{f' ({arch})' if arch else ''}"
    found = re.fullmatch(r"sm_(\d+)", arch)
    limits = _LIMITS.get(found[1]) if found else None
    if found is None or limits is None:
        return name
    return (
        f"{name}. An SM holds {limits.warps} warps, {limits.blocks} blocks, 65,536 registers and {limits.shared_kb} KB"
        f" of shared memory ({limits.block_kb} KB a block; over 48 KB with cudaFuncSetAttribute)."
    )
