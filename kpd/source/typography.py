"""Characters that word processors and chat windows put into code, and that compilers stumble over."""

from kpd.source.text import parts

_IN_CODE = {
    **dict.fromkeys(map(ord, "“”„‟″＂"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛′＇"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    0x2026: "...",
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if not chr(wide - 0xFEE0).isalnum()},
}
_UNSEEN = dict.fromkeys((0xAD, 0x061C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF))


def plain_code(path: str, text: str) -> str:
    """`text` with ASCII punctuation in its code; comments and literals keep theirs, where it does no harm.

    Characters that cannot be seen, or that turn the direction of what can, go everywhere: with them a person reads
    another text than is compiled.
    """
    seen = text.translate(_UNSEEN)
    if seen.isascii():
        return seen
    return "".join(part.translate(_IN_CODE) if kind == "code" else part for kind, part in parts(path, seen))
