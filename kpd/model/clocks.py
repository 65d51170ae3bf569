"""Explains why a GPU's clock is lowered: the bits of NVML's nvmlClocksEventReasons, and words for them."""

IDLE = 0x01
"""Nothing runs on it."""
_WORDS = {
    0x02: "application clocks", 0x04: "power limit", 0x08: "hardware slowdown", 0x10: "sync boost",
    0x20: "too hot", 0x40: "too hot", 0x80: "power brake", 0x100: "display clocks",
}  # fmt: skip
TROUBLE = 0x08 | 0x20 | 0x40 | 0x80
"""Reasons under which nothing should be timed. The power limit (0x04) is not among them: many GPUs always run at it."""


def words(reasons: int) -> tuple[str, ...]:
    """Return the reasons that the bits `reasons` name, each once; idling is not one."""
    return tuple(dict.fromkeys(word for bit, word in _WORDS.items() if reasons & bit))
