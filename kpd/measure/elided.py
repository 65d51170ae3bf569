"""A comment that stands for code left out, told from prose that only sounds like one.

`// ... rest of the kernel unchanged` leaves code out; `/* the rest of the row is unchanged by padding */` does not.
"""

import re
from itertools import islice

LONGEST = 120
"""Characters of a comment that may be an elision: they are short, and what is longer is prose."""
MOST_WORDS = 7
_C_MARK = re.compile(r"//+|/\*+|^\s*\*+(?!/)")
_SCRIPT_MARK = re.compile(r"#+")
_DOTS = ("...", "…")
_EDGES = " \t*/#=-<>[](){}!:;,"
_CODE = (
    r"(?:code|kernels?|functions?|implementations?|bod(?:y|ies)|files?|source|sections?|helpers?|includes?"
    r"|definitions?|declarations?|logic|methods?|class(?:es)?|program|module)"
)
_KEPT = (
    r"(?:unchanged|unmodified|untouched|identical|omitted|elided|skipped|(?:the )?same"
    r"|as (?:it )?(?:is|was|before)|as they (?:are|were))"
)
_VERB = r"(?:is|are|remains?|stays?|kept|left|continues?|goes)"
_PLACE = r"(?:here|below|above|for brevity|as before)"
_WHOLE = re.compile(
    rf"(?:keep |all |the |and )*"
    rf"(?:existing {_CODE}(?: {_VERB})?(?: {_KEPT})?(?: {_PLACE})?"
    rf"|(?:(?:rest|remainder|everything else)(?: of (?:the |this |your )?(?:\w+ )?{_CODE})?"
    rf"|(?:remaining|other|previous|original) (?:\w+ )?{_CODE})(?: {_VERB})? {_KEPT}(?: {_PLACE})?"
    rf"|(?:code|{_CODE}) omitted(?: {_PLACE})?|omitted for brevity)"
)
_BESIDE_DOTS = re.compile(
    r"^(?:the |and |all )*(?:rest|remaining|remainder|other|previous|original|same)\b(?: \w+){0,4}$"
    r"|\b(?:unchanged|unmodified|existing|omitted|elided|same as|as before|goes here|code here)\b"
)


def elided(path: str, line: str) -> bool:
    """Whether `line` of the file `path` has a comment in place of code; JSON has no comments."""
    if path.endswith(".json"):
        return False
    mark = _SCRIPT_MARK if path.endswith((".py", ".toml")) else _C_MARK
    return any(_stands_for_code(found[0], line[found.end() :]) for found in islice(mark.finditer(line), 2))


def _stands_for_code(mark: str, comment: str) -> bool:
    said = comment.partition("*/")[0].strip(_EDGES)
    if not said or len(said) > LONGEST:
        return False
    dotted = said.startswith(_DOTS) or said.endswith(_DOTS)
    if dotted and not re.search(r"\w", said):
        return not mark.lstrip().startswith("*")  # within a comment it is a part of a drawing
    words = re.findall(r"[a-z]+", said.lower())
    sentence = " ".join(words)
    if dotted and len(words) <= MOST_WORDS and _BESIDE_DOTS.search(sentence):
        return True
    return _WHOLE.fullmatch(sentence) is not None
