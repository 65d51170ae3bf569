"""What a kernel or its process does wrong, and whom to blame for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

SIDES = {"a": "incumbent", "b": "candidate"}
TOLD = 2000  # characters of an error


class Failed(Exception):
    """What the worker did wrong, by its kind: raised, exit, crash, timeout, forged, left."""

    def __init__(self, kind: str, message: str, number: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.number = number


class NotStarted(Exception):
    """A worker cannot start, before any kernel is loaded: the host's fault."""


class KernelProblem(Exception):
    """What a kernel does wrong, as the report has it: see `CheckFailure` in measure/driver/check.py."""

    def __init__(self, kind: str, side: str, message: str = "", number: int = 0, **more: Any) -> None:
        super().__init__(message)
        self.report: dict[str, Any] = {
            "kind": kind, "who": SIDES[side], "case": "", "distribution": "", "when": "check",
            "message": message[:TOLD].encode(errors="replace").decode(), "signal": number, **more,
        }  # fmt: skip

    def at(self, case: str, kind: str, when: str = "check") -> KernelProblem:
        """Return it with its case, its kind of inputs and its moment."""
        self.report.update(case=case, distribution=kind, when=when)
        return self

    def __reduce__(self) -> Any:
        return KernelProblem, (self.report["kind"], "b"), {"report": self.report}


@contextlib.contextmanager
def blamed(side: str) -> Iterator[None]:
    """Blame a kernel for all that can be wrong with its process and its answers. Raises KernelProblem."""
    try:
        yield
    except Failed as err:
        raise problem_of(err, side) from err
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as err:
        message = f"its worker answers what cannot be read: {type(err).__name__}: {err}"
        raise KernelProblem("forged", side, message) from err


def problem_of(err: Failed, side: str) -> KernelProblem:
    if err.kind == "left":
        return KernelProblem("raised", side, leaves(err.number))
    return KernelProblem(err.kind, side, str(err), err.number)


def leaves(threads: int) -> str:
    return f"it leaves {threads} thread{'s' * (threads != 1)} running"
