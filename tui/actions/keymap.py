"""Applies the operator's own keys, and reports those that are not possible."""

import difflib
from collections import defaultdict
from collections.abc import Mapping

from textual.binding import Binding
from textual.keys import Keys

from tui.actions.keys import written
from tui.actions.table import ACTIONS, BY_ID


def _of_character(character: str) -> str:
    """Textual's name of the key that makes it: `question_mark`."""
    if character == ",":  # which would stand between two keys
        return "comma"
    return next(iter(Binding.make_bindings([Binding(character, "")]))).key


VISIBLE = frozenset(_of_character(chr(code)) for code in range(ord("!"), ord("~") + 1))
NAMED = frozenset(key.value for key in Keys if key.value.isidentifier()) - {"return"}
"""Keys that have a name only; Textual tells no `return` from `enter`."""
MODIFIERS = frozenset(("alt", "ctrl", "hyper", "meta", "shift", "super"))
MOVES = frozenset((
    "up", "down", "left", "right", "pageup", "pagedown", "ctrl+pageup", "ctrl+pagedown", "home", "end",
    "enter", "j", "k",
))  # fmt: skip
"""What a pane does itself while the keyboard is in it: an act would have the key elsewhere only."""
SAME = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+j": "enter", "ctrl+m": "enter",
        "ctrl+left_square_bracket": "escape", "ctrl+space": "ctrl+@"}  # fmt: skip
"""What most terminals send for these."""
STEPS = frozenset("nN")
"""The log steps through matches with these, and is asked before the app; it has a key of its own for `follow` alone."""


def keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the keys as Textual names them, by the act's id, and what to say of what was refused, if anything was.

    An act whose key is refused keeps its usual one: so none is ever left without a key, or with one that does another
    thing.
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
    """Return the keys of one act as Textual names them; else why it cannot have them."""
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
    """Textual's name of a key as people write it: `ctrl+p`, `f5`, `?`; empty if there is no such key."""
    before, _, rest = text[:-1].rpartition("+")
    modifiers, key = before.split("+") if before else [], rest + text[-1:]
    visible = key in VISIBLE or (len(key) == 1 and key.isprintable() and not key.isspace())
    if not (visible or key in NAMED) or len(set(modifiers) & MODIFIERS) < len(modifiers):
        return ""
    if modifiers and (key != key.lower() or (modifiers == ["shift"] and visible)):
        return ""  # a terminal says the character that shift makes, and a small letter with ctrl
    return "+".join([*sorted(modifiers), _of_character(key) if len(key) == 1 else key])


def _remedy(text: str) -> str:
    near = difflib.get_close_matches(text.lower(), sorted(NAMED | VISIBLE), n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else "write a character, or a name such as 'space', 'f5' or 'ctrl+g'"


def _shared(keys: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the acts that would have the same key, by that key, where one of them has it of the operator."""
    holders: dict[str, list[str]] = defaultdict(list)
    for action in ACTIONS:
        for key in keys.get(action.id, action.keys).split(","):
            holders[key].append(action.id)
    return {key: ids for key, ids in holders.items() if len(ids) > 1 and any(id in keys for id in ids)}
