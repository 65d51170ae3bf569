"""A prompt that does not fit is shortened by rule: what can best be missed goes first, one step at a time."""

from dataclasses import replace

from kpd.agents.prompt.blocks import Block, Prompt

ORDER = ("advice", "run", "memory", "patterns", "hints", "changes", "skill", "catalogue", "counters", "log")
"""The kinds of blocks, in the order in which they become short. Of several skills the last goes first, of the run's
iterations the oldest.

Neither the source nor the task, the operator's words, the findings or the reason of a failure are among them.
"""


def shorter(prompt: Prompt) -> Prompt | None:
    """One step shorter; None when all that is left is needed."""
    for kind in ORDER:
        found = [block for block in prompt.blocks if kind_of(block) == kind and can_shrink(block)]
        if found:
            return _without(prompt, found[0 if kind == "run" else -1])
    return None


def kind_of(block: Block) -> str:
    """`skill:stall_wait` is a skill."""
    return block.name.partition(":")[0]


def can_shrink(block: Block) -> bool:
    return block.short is not None and len(block.short) < len(block.text)


def _without(prompt: Prompt, chosen: Block) -> Prompt:
    assert chosen.short is not None
    instead = replace(chosen, text=chosen.short, short=None) if chosen.short else None

    def swapped(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        kept = (instead if block is chosen else block for block in blocks)
        return tuple(block for block in kept if block is not None)

    stretches = tuple(kept for stretch in prompt.stretches if (kept := swapped(stretch)))
    return Prompt(stretches, swapped(prompt.user))
