"""Composes a prompt from the context and the background."""

from kpd.agents.agent import Context
from kpd.agents.prompt import system, user_turn
from kpd.agents.prompt.anchor import anchored
from kpd.agents.prompt.background import Background
from kpd.agents.prompt.blocks import Prompt


def compose(context: Context, known: Background) -> Prompt:
    """Compose the prompt for the next candidate, or for the repair of one that failed.

    The same context gives the same prompt, also after a restart in the same workspace. A repair has the same system
    prompt as the proposal before it, so the service reads that from its cache. Raises OSError, and OutsideFolder for a
    file of the task that leads out of its folder.
    """
    shown, failure = anchored(context), context.failure
    if failure is not None and failure.step != "propose":
        user = user_turn.repairing(context, failure, shown)
    else:
        user = user_turn.proposing(context, known, shown)
    return Prompt(system.stretches(context, known, shown), tuple(user))
