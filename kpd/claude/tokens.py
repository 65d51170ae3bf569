"""Estimates the tokens of a text from its size, without asking the service."""

import math

BYTES_A_TOKEN = 2.5
"""What the vendor gives for its current tokenizer (Claude Opus 4.7 and later): a million tokens are some 2.5 million
characters. Bytes stand for characters, since rarer scripts take more tokens a character."""
FEWEST_BYTES_A_TOKEN = 2.0


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_A_TOKEN)


def most_tokens(text: str) -> int:
    """Estimate the tokens of a text of prose or code, rather too high, for budgets."""
    return math.ceil(len(text.encode(errors="replace")) / FEWEST_BYTES_A_TOKEN)
