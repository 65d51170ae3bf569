"""g++'s errors in nvcc's words and shape: parsers of build logs meet realistic text."""

import re

_HEAD = re.compile(r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>error|warning): (?P<text>.*)")
_SNIPPET = re.compile(r"\s*\d+ \|(?P<source>.*)")
_CARET = re.compile(r"\s+\|(?P<mark>[ ~]*\^.*)")
_CONTEXT = re.compile(r"In file included from |\s+from |\S+: (In|At) |.*: note: |cc1plus: |compilation terminated")

# The commonest ones, in nvcc's words; the others stay as g++ says them.
_WORDS = (
    (re.compile(r"'([^']*)' was not declared in this scope.*"), r'identifier "\1" is undefined'),
    (re.compile(r"expected '?(.)'? before .*"), r'expected a "\1"'),
    (re.compile(r"'[^']*' has no member named '([^']*)'.*"), r'class has no member "\1"'),
    (
        re.compile(r"return-statement with a value, in function returning 'void'.*"),
        "return value type does not match the function type",
    ),
    (re.compile(r"assignment of read-only .*"), "expression must be a modifiable lvalue"),
    (re.compile(r"too (many|few) arguments to function .*"), r"too \1 arguments in function call"),
)


def as_nvcc(log: str, source: str) -> str:
    """A log of g++, with errors as `FILE(LINE): error: TEXT`, the source line and a caret below it.

    What the preprocessor says stays as it is, and so do warnings: with nvcc, too, both come from the host's compiler.
    """
    if "fatal error:" in log:
        return log
    out: list[str] = []
    errors = 0
    wanted = False
    ours = False  # whether the lines that follow belong to an error
    for line in log.splitlines():
        head = _HEAD.match(line)
        if head and head["kind"] == "error":
            errors += 1
            ours = wanted = True
            out.append(f"{head['file']}({head['line']}): error: {_in_words(head['text'])}")
        elif head:
            ours, wanted = False, True
            out.append(line)
        elif _CONTEXT.match(line):
            wanted = False
        elif not wanted:
            continue
        elif ours and (snippet := _SNIPPET.match(line)):
            out.append(" " + snippet["source"])
        elif ours and (caret := _CARET.match(line)):
            out += [" " * min(caret["mark"].index("^") + 1, len(out[-1]) - 1) + "^", ""]
            wanted = False
        elif not ours:
            out.append(line)
    if errors:
        plural = "error" if errors == 1 else "errors"
        if out[-1]:
            out.append("")
        out += [f'{errors} {plural} detected in the compilation of "{source}".']
    return "\n".join(out) + "\n" if out else ""


def _in_words(text: str) -> str:
    for pattern, words in _WORDS:
        if pattern.fullmatch(text):
            return pattern.sub(words, text)
    return text
