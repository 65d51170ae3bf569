"""Writes keys as people read them."""

from textual.keys import format_key

_WRITTEN = {
    "question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]", "colon": ":", "escape": "esc",
    "enter": "⏎", "space": "space", "slash": "/", "shift+tab": "⇧tab", "full_stop": ".", "comma": ",",
    "up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "page↑", "pagedown": "page↓",
    "greater_than_sign": ">", "less_than_sign": "<", "right_parenthesis": ")", "plus": "+", "minus": "-",
}  # fmt: skip


def written(keys: str, most: int = 1) -> str:
    """Format the first `most` of Textual's key names for people: `^p`, `?`, `esc`."""
    return " ".join(_one(key.strip()) for key in keys.split(",")[:most])


def _one(key: str) -> str:
    if key.startswith("ctrl+"):
        return "^" + _one(key.removeprefix("ctrl+"))
    return _WRITTEN.get(key) or format_key(key)
