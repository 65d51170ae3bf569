"""What a host says, made fit to be shown: it may print whatever it likes."""

LONGEST = 200


def plain(text: str, most: int = LONGEST) -> str:
    """`text` on one line of printable characters, not longer than `most`."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * most]).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
