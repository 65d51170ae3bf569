"""The sentence that a run, a notification and a report have in common while a candidate waits for a person."""


def for_approval(run: str, number: int) -> str:
    """That the candidate of an iteration waits, and how to let it go on."""
    name = f"{run}.{number}"
    return f"{name} needs your approval: kpd diff {name}, then kpd approve {name} or kpd decline {name}"
