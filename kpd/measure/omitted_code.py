"""Recognises comments that stand for omitted code, as opposed to normal prose.

`// ... rest of the kernel unchanged` leaves code out; `/* the rest of the row is unchanged by padding */` does not.
"""

import re
from itertools import islice

LONGEST = 120
"""The most characters of a comment that stands for omitted code; a longer one is prose."""
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
_KEEP = r"(?:keep |all |the |and )*"
_WHOLE = re.compile(
    rf"{_KEEP}"
    rf"(?:existing {_CODE}(?: {_VERB})?(?: {_KEPT})?(?: {_PLACE})?"
    rf"|(?:(?:rest|remainder|everything else)(?: of (?:the |this |your )?(?:\w+ )?{_CODE})?"
    rf"|(?:remaining|other|previous|original) (?:\w+ )?{_CODE})(?: {_VERB})? {_KEPT}(?: {_PLACE})?"
    rf"|{_CODE} omitted(?: {_PLACE})?|omitted for brevity)"
)
_BESIDE_DOTS = re.compile(
    rf"{_KEEP}(?:(?:rest|remainder)(?: of (?:the |this |your )?(?:\w+ )?{_CODE})?"
    rf"|(?:remaining|other|previous|original|same|existing) (?:\w+ )?{_CODE}|existing|same as (?:before|above))"
    rf"(?: {_VERB})?(?: {_KEPT})?(?: {_PLACE})?"
    r"|(?:.* )?(?:unchanged|unmodified|omitted|elided|goes here|code here)(?: .*)?"
)
"""For a comment with dots that is alone on its line."""
_KEPT_BY_DOTS = re.compile(r"\b(?:unchanged|unmodified|omitted|elided)\W{0,3}(?:\.\.\.|…)", re.IGNORECASE)


def elided(path: str, line: str) -> bool:
    """Return whether a comment in `line` of the file `path` stands for omitted code. JSON has no comments."""
    if path.endswith(".json"):
        return False
    mark = _SCRIPT_MARK if path.endswith((".py", ".toml")) else _C_MARK
    return any(_stands_for_code(line[: found.start()], found[0], line[found.end() :])
               for found in islice(mark.finditer(line), 2))  # fmt: skip


def _stands_for_code(before: str, mark: str, comment: str) -> bool:
    said = comment.partition("*/")[0].strip(_EDGES)
    if not said or len(said) > LONGEST:
        return False
    dotted = said.startswith(_DOTS) or said.endswith(_DOTS)
    if dotted and not re.search(r"\w", said):
        return not mark.lstrip().startswith("*")  # inside a longer comment it may be part of a drawing
    words = re.findall(r"[a-z]+", said.lower())
    sentence = " ".join(words)
    if _WHOLE.fullmatch(sentence):
        return True
    alone = not before.strip() or before.rstrip().endswith("{")
    if not alone or len(words) > MOST_WORDS:
        return False
    return bool(dotted and _BESIDE_DOTS.fullmatch(sentence)) or bool(_KEPT_BY_DOTS.search(said))
