"""Which skills a prompt shows in full, and in which order: what was shown stays, so that it is read from the cache.

The service caches a beginning: one body that comes, goes or moves makes all that follows it be written anew. Findings
change when a candidate is accepted, and then much at once. So bodies stand in the order in which the run first showed
them; a new one goes to the end; one whose rule no longer fires stays as long as there is room, for then it costs a
tenth. When the severest finding would go without for that, all go that no longer fire, for with the first of them the
beginning is lost anyway; then, from the end, what still is too much.

A finding of low severity is a symptom: its line says all. Its body is shown where nothing worse has fired.

The set follows from the run alone, so a restarted daemon shows the same. Efficacy takes no part in it: that changes
while other runs go on. It orders the findings in the user's turn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kpd.model.nouns import Run
from kpd.profile.catalogue import RULES

MOST = 5
"""Bodies in a prompt."""
_LOW = frozenset(rule.id for rule in RULES if rule.severity == "low")


@dataclass(frozen=True, slots=True)
class Shown:
    """`before` are the first skills, as the question before had them too; `new` those that follow."""

    before: tuple[str, ...]
    new: tuple[str, ...]


def shown(run: Run, number: int, fired: Sequence[str], sizes: Mapping[str, int], room: int) -> Shown:
    """The skills that iteration `number` is shown in full, when these rules fired on what it starts from.

    `sizes` are those of the bodies there are, `room` is for all of them: both in the same unit, and the same in a run.
    """
    before: tuple[str, ...] = ()
    for rules in _earlier(run, number):
        before = following(before, wanted(rules, sizes), sizes, room)
    now = following(before, wanted(fired, sizes), sizes, room)
    same = next((at for at, skill in enumerate(now) if before[at : at + 1] != (skill,)), len(now))
    return Shown(now[:same], now[same:])


def following(before: Sequence[str], wanted: Sequence[str], sizes: Mapping[str, int], room: int) -> tuple[str, ...]:
    """The bodies of a question whose findings want these, the severest first, after one that showed those `before`.

    The first that is wanted is among them, even if it alone takes more than the room.
    """

    def fit(skills: Iterable[str]) -> bool:
        chosen = set(skills)
        return len(chosen) <= MOST and sum(sizes.get(skill, 0) for skill in chosen) <= room

    kept = [skill for skill in before if skill in sizes]
    if not fit([*kept, *wanted[:1]]):
        kept = [skill for skill in kept if skill in wanted]
    while kept and not fit([*kept, *wanted[:1]]):
        kept.pop()
    for skill in wanted:
        if skill not in kept and (skill == wanted[0] or fit([*kept, skill])):
            kept.append(skill)
    return tuple(kept)


def wanted(rules: Iterable[str], have: Iterable[str]) -> tuple[str, ...]:
    """The skills of the rules that fired, at most MOST."""
    known = set(have)
    there = [rule for rule in dict.fromkeys(rules) if rule in known]
    return tuple([rule for rule in there if rule not in _LOW] or there)[:MOST]


def _earlier(run: Run, number: int) -> Iterator[tuple[str, ...]]:
    """The rules of what the same agent's earlier iterations started from, in order."""
    now = run.iteration(number)
    for iteration in run.iterations:
        parent = run.iteration(iteration.parent)
        asked = iteration.number < number and (now is None or iteration.agent == now.agent)
        if asked and parent is not None and parent.number != iteration.number:
            yield parent.rules
