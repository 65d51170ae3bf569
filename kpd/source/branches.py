"""Text as it may reach a compiler: its directives are blank, and of each #if one branch stays."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kpd.source.text import blank

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n\\]|\\[\s\S])*+", re.MULTILINE)
MOST = 16
"""Readings of a text, and so branches of one #if that are seen."""
MOST_CHARACTERS = 1 << 20
"""In all readings but the first, so that a reply of many branches takes no time without end."""


@dataclass(slots=True)
class _Branch:
    """One branch of the #if number `chain`; `unseen` where a reading with it, or with one in it, is still to come."""

    parent: int
    chain: int
    unseen: bool = True
    needed: bool = True
    taken: bool = False


def readings(text: str) -> Iterator[str]:
    """The text with each branch of its #ifs in one reading at least. All are as long, and have the same lines."""
    directives = [(found.start(), found.end(), found[1]) for found in _DIRECTIVE.finditer(text)]
    branches, owners = _branches([word for _, _, word in directives])
    for _ in range(min(MOST, 1 + MOST_CHARACTERS // max(len(text), 1))):
        _choose(branches)
        out, at = [], 0
        for (start, end, _), owner in zip(directives, [0, *owners], strict=False):
            out += [text[at:start] if branches[owner].taken else blank(text[at:start]), blank(text[start:end])]
            at = end
        rest = text[at:]
        yield "".join([*out, rest if branches[owners[-1] if owners else 0].taken else blank(rest)])
        if not any(branch.unseen for branch in branches):
            return


def _branches(words: list[str]) -> tuple[list[_Branch], list[int]]:
    """All branches, each behind the one around it, and in which of them stands what follows each directive."""
    branches = [_Branch(0, 0)]
    owners, open_ = [], [0]
    for word in words:
        if word in ("if", "ifdef", "ifndef"):
            branches.append(_Branch(open_[-1], len(branches)))
            open_.append(len(branches) - 1)
        elif word in ("elif", "else", "elifdef", "elifndef") and len(open_) > 1:
            before = branches[open_.pop()]
            branches.append(_Branch(before.parent, before.chain))
            open_.append(len(branches) - 1)
        elif word == "endif" and len(open_) > 1:
            open_.pop()
        owners.append(open_[-1])
    return branches, owners


def _choose(branches: list[_Branch]) -> None:
    """Of each #if the first branch with something unseen in it, else its first."""
    for branch in branches:
        branch.needed = branch.unseen
    for branch in reversed(branches[1:]):
        branches[branch.parent].needed |= branch.needed
    chosen: dict[int, _Branch] = {}
    for branch in branches:
        first = chosen.setdefault(branch.chain, branch)
        if branch.needed and not first.needed:
            chosen[branch.chain] = branch
    for branch in branches:
        branch.taken = chosen[branch.chain] is branch and (branch is branches[0] or branches[branch.parent].taken)
        branch.unseen = branch.unseen and not branch.taken
