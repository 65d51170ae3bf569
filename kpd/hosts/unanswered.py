"""How a recorded program ends that has no answer. Apart from all else, because those programs have to start fast."""

UNANSWERED = 97
"""Its exit status; on a host that plays a recording it is the host's trouble, whatever ran there."""
