"""Declares arguments of operations: types with limits, and their help.

This module imports next to nothing, so that a command-line verb starts quickly; `checking` holds values against it.
"""

from typing import Annotated, NamedTuple


class Within(NamedTuple):
    """The limits of a value: at least, above, at most, below; `min_length` is that of a text."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None


class Arg(NamedTuple):
    """An argument on the command line: `option` as in --run, else positional; with `words` it takes the rest."""

    metavar: str
    help: str
    option: str = ""
    words: bool = False


Text = Annotated[str, Within(min_length=1)]
Count = Annotated[int, Within(ge=1, le=1_000_000)]
Few = Annotated[int, Within(ge=1, le=256)]
Positive = Annotated[float, Within(gt=0)]
NotNegative = Annotated[float, Within(ge=0)]
Percent = Annotated[float, Within(ge=0, lt=100)]
