"""Parses arguments; an error ends with exit code 64 and one line."""

import argparse
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from kpd.cli.exit_codes import CliError


class Parser(argparse.ArgumentParser):
    """A parser whose `error` raises CliError, where argparse would print the usage and exit with code 2."""

    def error(self, message: str) -> NoReturn:
        raise CliError(message, f"see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name the closest verb to one that there is none of, and none that no help lists."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            shown = [str(one.dest) for one in action._choices_actions]
            raise CliError(f"{self.prog} has no verb {value!r}", nearest(value, shown))
        super()._check_value(action, value)


def add_workspace(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "-w",
        "--workspace",
        metavar="DIR",
        default=default,
        help="the workspace (default: $KPD_WORKSPACE, or the nearest one from here upwards)",
    )


def add_workspace_below(verbs: "argparse._SubParsersAction[Any]") -> None:
    """Take the option -w behind the words below a verb, too: `kpd hosts retry NAME -w DIR`."""
    for parser in verbs.choices.values():
        add_workspace(parser, argparse.SUPPRESS)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        metavar="DURATION",
        type=limit,
        help="wait no longer than this (90s, 20m, 1.5h), and exit with 4 if the run is not over: it goes on",
    )


def limit(text: str) -> float:
    """Parse a duration, and return its seconds. Raises ArgumentTypeError."""
    from kpd.workspace.durations import duration  # --help needs nothing of the workspace

    try:
        return duration(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(f"must be a duration like 90s, 20m or 1.5h, not {text!r}") from err


def nearest(word: str, known: list[str]) -> str:
    """Return a remedy that names the closest of `known`, or all of them."""
    import difflib  # only an error needs it

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"known are {', '.join(known)}" if known else ""


def count(text: str) -> int:
    """Parse a positive whole number. Raises ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return value


def count_or(words: Sequence[str], text: str) -> int | str:
    """Parse a positive whole number, or one of the words. Raises ArgumentTypeError."""
    return text if text in words else count(text)


def amount(text: str) -> float:
    """Parse a number, 0 or above. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number, at least 0, not {text!r}")
    return value
