"""How many examples a property is tested with that needs more of them than hypothesis's profile draws."""

from hypothesis import settings

FEWEST = 10


def examples(thorough: int) -> int:
    """As many as that in `make slow`, which draws all that CI wants; elsewhere a fifth, since each run draws others."""
    return thorough if settings.get_current_profile_name() == "thorough" else max(FEWEST, thorough // 5)
