"""What an operator makes of rules, as agents see it: of one that is banned they do not even hear that it is."""

from kpd.model.nouns import Run


def heard(run: Run, rule: str) -> bool:
    """Whether the run's agents hear of a rule, in findings, in the catalogue and by its skill."""
    return run.stands.get(rule) != "banned"


def pinned(run: Run) -> tuple[str, ...]:
    """The rules that agents hear of first, in the order in which they were pinned."""
    return tuple(rule for rule, stand in run.stands.items() if stand == "pinned")
