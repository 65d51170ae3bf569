"""kpd task new NAME --like matmul …: makes a task of a usual shape of kernels, and asks for what is not given."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kpd.cli.exit_codes import CliError
from kpd.cli.parser import nearest
from kpd.cli.terminal_text import narrate
from kpd.text.foreign import visible

if TYPE_CHECKING:
    from kpd.onboarding.shapes import Sizes

LIKE = ("matmul", "elementwise", "reduction", "stencil")
DTYPES = ("float32", "float64")
T = TypeVar("T")


def arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("of a usual shape", "asks on a terminal for what is not given")
    group.add_argument("--like", choices=LIKE, help="what the kernel is like: a task that runs, to put yours into")
    group.add_argument("--dtype", choices=DTYPES, help="type of the elements (default: float32)")
    group.add_argument(
        "--sizes", metavar="SIZES", help="what to time: 512x512x512,97x131x75 (default: two sizes of a usual kind)"
    )


def task_files(args: Namespace) -> dict[str, str]:
    """Return the files of the task by their names. Raises CliError."""
    from kpd.onboarding.shapes import LANGS, SHAPES, read_sizes, task_files as made

    if args.language not in LANGS:
        raise CliError(f"--like knows no {args.language!r}", nearest(args.language, list(LANGS)))
    shape = SHAPES[args.like]
    dtype = args.dtype or _asked("type of the elements", " or ".join(DTYPES), DTYPES[0], _dtype)
    usual = shape.sizes["gpu" if args.language == "cuda" else "cpu"]

    def sizes(text: str) -> "Sizes":
        return read_sizes(shape, dtype, text)

    if args.sizes is None:
        found = _asked("sizes to time", " x ".join(shape.dims) + ", several with commas", usual, sizes)
    else:
        try:
            found = sizes(args.sizes)
        except ValueError as err:
            raise CliError(f"--sizes: {visible(str(err))}", f"for example --sizes {usual}") from err
    return made(args.name, args.like, args.language, dtype, found)


def _dtype(text: str) -> str:
    if text not in DTYPES:
        raise ValueError(f"{text!r} is none of {', '.join(DTYPES)}")
    return text


def _asked(what: str, form: str, usual: str, read: Callable[[str], T]) -> T:
    """Ask on the terminal until the answer can be read; without a terminal, or with Enter, it is the usual one."""
    while sys.stdin.isatty():
        sys.stderr.write(f"{what} ({form}) [{usual}]: ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip()
        if not answer:
            break
        try:
            return read(answer)
        except ValueError as err:
            narrate(visible(str(err)))
    return read(usual)
