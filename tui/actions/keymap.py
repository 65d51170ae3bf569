"""Applies the operator's own keys, and reports those that are not possible."""

import difflib
from collections import defaultdict
from collections.abc import Mapping

from textual.binding import Binding
from textual.keys import Keys

from tui.actions.keys import written
from tui.actions.table import ACTIONS, BY_ID


def _of_character(character: str) -> str:
    """Return Textual's name of the key that types this character: `question_mark`."""
    if character == ",":  # a comma separates keys
        return "comma"
    return next(iter(Binding.make_bindings([Binding(character, "")]))).key


VISIBLE = frozenset(_of_character(chr(code)) for code in range(ord("!"), ord("~") + 1))
NAMED = frozenset(key.value for key in Keys if key.value.isidentifier()) - {"return"}
"""Keys that have only a name; to Textual `return` and `enter` are the same."""
MODIFIERS = frozenset(("alt", "ctrl", "hyper", "meta", "shift", "super"))
MOVES = frozenset((
    "up", "down", "left", "right", "pageup", "pagedown", "ctrl+pageup", "ctrl+pagedown", "home", "end",
    "enter", "j", "k",
))  # fmt: skip
"""Keys that a pane handles itself while the keyboard is in it: an action would have them only elsewhere."""
SAME = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+j": "enter", "ctrl+m": "enter",
        "ctrl+left_square_bracket": "escape", "ctrl+space": "ctrl+@"}  # fmt: skip
"""The keys that most terminals send for these."""
STEPS = frozenset("nN")
"""Keys that go through matches in the log; `follow`, which has a binding there, too, cannot have them."""


def keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the operator's keys by action id, as Textual names them, and a message on those that were refused.

    An action whose key is refused keeps its usual one, so no action is ever without a key or shares one.
    """
    keys: dict[str, str] = {}
    refused: list[str] = []
    for id, text in wanted.items():
        found, why = _own(id, text)
        if why:
            refused.append(why)
        else:
            keys[id] = found
    while shared := _shared(keys):
        for key, ids in shared.items():
            both = " and ".join(ids)
            refused.append(
                f"{both} would share {written(key)!r}, so they keep their usual keys; give one of them another"
            )
            for id in ids:
                keys.pop(id, None)
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return keys, f"config.toml, [tui.keys]: {refused[0]}{more}" if refused else ""


def _own(id: str, text: str) -> tuple[str, str]:
    """Return the keys of one action as Textual names them, or the reason why it cannot have them."""
    if id not in BY_ID:
        return "", f"no action is called {id!r}; ? lists them all"
    found: list[str] = []
    for one in ["comma"] if text.strip() == "," else [part.strip() for part in text.split(",")]:
        key = _named(one)
        if not key:
            return "", f"no key is called {one!r}; {_remedy(one)}"
        if key in SAME:
            return "", f"{id} cannot have {one!r}: most terminals send {SAME[key]} for it; give it another"
        taken = key in MOVES or (id == "follow" and key in STEPS)
        if taken and key not in BY_ID[id].keys.split(","):
            return "", f"{id} cannot have {written(key)!r}, which moves within a pane; give it another"
        found.append(key)
    return ",".join(dict.fromkeys(found)), ""


def _named(text: str) -> str:
    """Return Textual's name of a key that people write `ctrl+p`, `f5` or `?`; empty if there is no such key."""
    before, _, rest = text[:-1].rpartition("+")
    modifiers, key = before.split("+") if before else [], rest + text[-1:]
    visible = key in VISIBLE or (len(key) == 1 and key.isprintable() and not key.isspace())
    if not (visible or key in NAMED) or len(set(modifiers) & MODIFIERS) < len(modifiers):
        return ""
    if modifiers and (key != key.lower() or (modifiers == ["shift"] and visible)):
        return ""  # a terminal sends the character that shift makes, and a lower-case letter with ctrl
    return "+".join([*sorted(modifiers), _of_character(key) if len(key) == 1 else key])


def _remedy(text: str) -> str:
    near = difflib.get_close_matches(text.lower(), sorted(NAMED | VISIBLE), n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else "write a character, or a name such as 'space', 'f5' or 'ctrl+g'"


def _shared(keys: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the actions that would share a key, by that key, where the operator has set it for one of them."""
    holders: dict[str, list[str]] = defaultdict(list)
    for action in ACTIONS:
        for key in keys.get(action.id, action.keys).split(","):
            holders[key].append(action.id)
    return {key: ids for key, ids in holders.items() if len(ids) > 1 and any(id in keys for id in ids)}
