"""Parses the compiler flags of a candidate: only those that change code generation are allowed.

An allow-list, because compilers have many flags that read or write files, load plugins or change what is linked.
"""

import difflib
import json
import re
from dataclasses import dataclass

BUILD_FILE = "build.json"
"""The file in which a candidate sets flags, if the task allows it."""
MOST = 32
"""Flags that one candidate may set."""
LONGEST = 80
"""Characters of one flag."""
DEFINE = re.compile(r"-D[A-Za-z_]\w*(=[A-Za-z0-9_.+-]*)?", re.ASCII)


class FlagError(ValueError):
    """A flag that a candidate may not set, or a build.json that cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """The allowed flags: those in `exact`, and those that match one of `shapes`.

    A flag in `takes` has its value in the next word. A flag that matches `inexact` changes results: it is allowed only
    with `fast_math`.
    """

    exact: frozenset[str]
    shapes: tuple[re.Pattern[str], ...]
    takes: frozenset[str] = frozenset()
    inexact: re.Pattern[str] = re.compile(r"(?!)")
    fast_math: bool = False

    def allows(self, flag: str) -> bool:
        """Return whether a candidate may set `flag`."""
        known = flag in self.exact or any(shape.fullmatch(flag) for shape in self.shapes)
        return known and len(flag) <= LONGEST and (self.fast_math or not self.inexact.fullmatch(flag))

    def parse(self, text: str) -> tuple[str, ...]:
        """Split `text` into flags, each as one word: `-Xptxas -O3` becomes `-Xptxas=-O3`. There is no quoting.

        Raises FlagError, which names the first flag that is refused.
        """
        flags: list[str] = []
        for word in text.split():
            if flags and flags[-1] in self.takes:
                flags[-1] += f"={word}"
            else:
                flags.append(word)
        if len(flags) > MOST:
            raise FlagError(f"{len(flags)} compiler flags, but at most {MOST} are allowed")
        for flag in flags:
            if not self.fast_math and self.inexact.fullmatch(flag):
                raise FlagError(f"the compiler flag {flag} changes results; [check] fast_math = true would allow it")
            if not self.allows(flag):
                near = difflib.get_close_matches(flag, self.exact, n=1, cutoff=0.8)
                hint = f"did you mean {near[0]}?" if near else "only flags that tune code generation are allowed"
                raise FlagError(f"the compiler flag {flag[:LONGEST]!r} is not allowed; {hint}")
        return tuple(flags)

    def of_build_json(self, raw: bytes) -> tuple[str, ...]:
        """Parse the flags in a candidate's build.json, {"flags": "-O2 …"}. Raises FlagError."""
        try:
            table = json.loads(raw)
        except (ValueError, RecursionError) as err:
            raise FlagError(f"build.json is not JSON: {err}") from err
        if not isinstance(table, dict) or table.keys() != {"flags"} or not isinstance(table["flags"], str):
            raise FlagError('build.json must have exactly one key, "flags", whose value is a string such as "-O2"')
        return self.parse(table["flags"])
