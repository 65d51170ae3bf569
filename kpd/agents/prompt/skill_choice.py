"""Chooses the skills that a prompt shows in full, and their order, so that those shown before stay in the cache.

The service caches the beginning of a prompt: a body that comes, goes or moves makes it write everything after it again.
Findings change when a candidate is accepted, and then many at once. So bodies stay in the order in which the run first
showed them. A new one goes to the end. One whose rule no longer fires stays as long as there is room, because from the
cache it costs a tenth. When the most severe finding would have no room for its body, all bodies whose rules no longer
fire go, since with the first of them the cached rest is lost anyway; then, from the end, what is still too much.

A finding of low severity is a symptom: its line says enough, and its body is shown only where nothing worse has fired.

Pinned skills stand before all of these, whether they fire or not, and however little room that leaves.

The set follows from the run alone, so a restarted daemon shows the same. Efficacy has no influence, because it changes
while other runs go on. It orders the findings in the user's turn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kpd.agents.prompt.background import pinned
from kpd.model.run import Run
from kpd.profile.catalogue import rules as known_rules

MOST = 5
ROOM = 1500
"""The most bodies in a prompt, and the most tokens of all bodies together."""


@dataclass(frozen=True, slots=True)
class ShownSkills:
    """The skills shown in full: `early` ones were shown before the source and stand before it, `late` ones after it."""

    early: tuple[str, ...]
    late: tuple[str, ...]


def shown_skills(run: Run, number: int, fired: Sequence[str], sizes: Mapping[str, int], anew: int) -> ShownSkills:
    """Choose the skills that iteration `number` is shown in full, given the rules that `fired` on its parent.

    `sizes` are the tokens of the bodies that exist. Iteration `anew` was the first to be shown the source as it stands
    in the prompt.
    """
    first = tuple(rule for rule in pinned(run) if rule in sizes)
    others = {skill: size for skill, size in sizes.items() if skill not in first}
    room, most = ROOM - sum(sizes[skill] for skill in first), MOST - len(first)
    bodies: tuple[str, ...] = ()
    early: tuple[str, ...] | None = None
    for asked, rules in (*_earlier(run, number), (number, fired)):
        bodies = following(bodies, wanted(rules, others), others, room, most)
        early = bodies if early is None and asked >= anew else early
    kept = tuple(skill for skill in bodies if skill in (early or ()))
    return ShownSkills((*first, *kept), tuple(skill for skill in bodies if skill not in kept))


def following(
    before: Sequence[str], wanted: Sequence[str], sizes: Mapping[str, int], room: int, most: int = MOST
) -> tuple[str, ...]:
    """Return the bodies of a question, given those of the question `before` it.

    `wanted` are the skills of its findings, the most severe first. The first of them is always shown, even if it alone
    takes more than the room.
    """

    def fit(skills: Iterable[str]) -> bool:
        chosen = set(skills)
        return len(chosen) <= most and sum(sizes.get(skill, 0) for skill in chosen) <= room

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
    """Return the skills of the rules that fired, at most MOST."""
    known = set(have)
    there = [rule for rule in dict.fromkeys(rules) if rule in known]
    low = {rule.id for rule in known_rules() if rule.severity == "low"}
    return tuple([rule for rule in there if rule not in low] or there)[:MOST]


def _earlier(run: Run, number: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the same agent's earlier iterations, in order, with the rules that fired on what they started from."""
    now = run.iteration(number)
    for iteration in run.iterations:
        parent = run.iteration(iteration.parent)
        asked = iteration.number < number and (now is None or iteration.agent == now.agent)
        if asked and parent is not None and parent.number != iteration.number:
            yield iteration.number, parent.rules
