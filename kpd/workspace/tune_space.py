"""Reads the parameters of a sweep, `[tune]`, and its conditions, `where` in `[sweep]`, from task.toml."""

from kpd.workspace import expr
from kpd.workspace.strict import Document


def space(document: Document, tune: dict[str, tuple[bool | int | float | str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the values of each parameter as a candidate's source gets them. Raises ConfigError."""
    found: dict[str, tuple[str, ...]] = {}
    for name, given in tune.items():
        values = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in given)
        if not name.isidentifier() or not name.isascii():
            raise document.error(f"{name!r} in [tune] is not an identifier", "use letters, digits and _", "tune", name)
        if not values:
            raise document.error(f"{name!r} in [tune] has no values", "list what to try, or remove it", "tune", name)
        if len(set(values)) < len(values):
            raise document.error(f"{name!r} in [tune] has a value twice", "list each value once", "tune", name)
        if not all(value.isprintable() for value in values):
            raise document.error(f"{name!r} in [tune] has a control character", "use plain text", "tune", name)
        found[name] = values
    return found


def conditions(document: Document, where: tuple[str, ...], tune: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the conditions of a sweep; each names parameters of the space only. Raises ConfigError."""
    for text in where:
        try:
            names = expr.condition(text).names
        except expr.ExprError as err:
            raise document.error(f"'where' in [sweep]: {err}", 'for example "TILE * VEC <= 1024"', "sweep") from err
        if unknown := sorted(names - tune.keys()):
            have = ", ".join(tune) or "none"
            message = f"'where' in [sweep]: [tune] has no {unknown[0]!r}; its parameters are {have}"
            raise document.error(message, "correct the name", "sweep", "where")
    return where
