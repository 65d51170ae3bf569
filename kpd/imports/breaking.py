"""Makes kernels wrong, to see whether anything notices: bodies are emptied, results are zeros, or nearly right."""

import ast
import re
from dataclasses import dataclass

from kpd.source.text import blank, code
from kpd.source.tree import grammar, parsed, walk

_EACH = """
def _kpd_each(value, change):
    if isinstance(value, (tuple, list)):
        return type(value)(_kpd_each(one, change) for one in value)
    if isinstance(value, dict):
        return {key: _kpd_each(one, change) for key, one in value.items()}
    return value if value is None or isinstance(value, (str, bytes, bool)) else change(value)


"""
_ZEROED = """def _kpd_wrong(function):
    return lambda *given, **named: _kpd_each(function(*given, **named), lambda value: value * 0)


"""
_ONES = """def _kpd_wrong(function):
    return lambda *given, **named: _kpd_each(function(*given, **named), lambda value: value * 0 + 1)


"""
_FIRST = """def _kpd_form(value):
    if isinstance(value, (tuple, list)):
        return (len(value), *map(_kpd_form, value[:8]))
    return str(getattr(value, "shape", None) or type(value))


def _kpd_wrong(function):
    first = {}

    def remembering(*given, **named):
        key = (_kpd_form(given), _kpd_form([*named.values()]))
        if key not in first:
            first[key] = function(*given, **named)
        return _kpd_each(first[key], lambda value: value * 1)

    return remembering


"""
_OFF = """def _kpd_off(value):
    kind = str(getattr(value, "dtype", type(value).__name__))
    if not kind.endswith(("float", "float32", "float64")):
        raise TypeError(f"{kind} has no more precision than float16")
    return value * (1 + 2.0**-11)


def _kpd_wrong(function):
    return lambda *given, **named: _kpd_each(function(*given, **named), _kpd_off)


"""


@dataclass(frozen=True, slots=True)
class WrongKernel:
    """A way to make a kernel in Python wrong: its code; `weak` is what is told of a task in which it passes."""

    code: str
    weak: str


PROBES = (
    WrongKernel(_ONES, "a kernel whose results are all 1 passes"),
    WrongKernel(_FIRST, "a kernel that returns again what it returned first passes: in a run its inputs do not vary"),
    WrongKernel(
        _OFF, "results that are off by 1 in 2048 pass: the tolerance does not tell float16 or TF32 from float32"
    ),
)
"""Kernels that are less wrong than one that computes nothing."""


def broken(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a candidate that computes nothing; empty where kpd does not know how to break any of them."""
    found = {}
    for path, data in files.items():
        text = data.decode(errors="replace")
        made = _python(text) if path.endswith(".py") else _compiled(path, text) if path.endswith(_SUFFIXES) else ""
        if made and made != text:
            found[path] = made.encode()
    return found


def nearly_right(files: dict[str, bytes], how: WrongKernel) -> dict[str, bytes]:
    """Return the Python files of a candidate that is wrong in this way; empty where no function returns a result."""
    texts = {path: data.decode(errors="replace") for path, data in files.items() if path.endswith(".py")}
    made = {path: _wrapped(text, how.code) for path, text in texts.items()}
    return {path: text.encode() for path, text in made.items() if text}


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\[\s\S])*", re.MULTILINE)
_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu")


def _python(text: str) -> str:
    """Let entries return zeros of what they returned; where none returns anything, empty all functions."""
    if made := _wrapped(text, _ZEROED):
        return made
    emptied = _plain(_body(text))
    if not emptied:
        return ""
    return f"{text}\n" + "".join(f"\n\ndef {node.name}(*given, **named):\n    return None\n" for node in emptied)


def _wrapped(text: str, wrong: str) -> str:
    """Wrap what others call of a Python file: functions at the top that return something, and methods `forward`.

    A function that the file itself uses is left as it is: with wrong block sizes a kernel would crash, and that a check
    notices a crash says nothing of results. Empty where there is nothing to wrap.
    """
    body = _body(text)
    used = {
        one.id
        for node in body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id != node.name
    }
    returning = [node.name for node in _plain(body) if _returns(body, node.name)]
    entries = [name for name in returning if name not in used] or returning
    models = [
        node.name
        for node in body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(m, ast.FunctionDef) and m.name == "forward" for m in node.body)
    ]
    lines = [f"{name} = _kpd_wrong({name})" for name in entries]
    lines += [f"{name}.forward = (lambda f: _kpd_wrong(f))({name}.forward)" for name in models]
    return f"{text}\n{_EACH}{wrong}" + "\n".join(lines) + "\n" if lines else ""


def _body(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def _plain(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    return [node for node in body if isinstance(node, ast.FunctionDef) and not node.decorator_list]


def _returns(body: list[ast.stmt], name: str) -> bool:
    function = next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _compiled(path: str, text: str) -> str:
    """Empty the bodies of the functions of C, C++ and CUDA; those that return a value return zero."""
    found = []
    plain = _DIRECTIVE.sub(lambda directive: blank(directive[0]), code(path, text))
    for node in walk(parsed(grammar(path), plain)):
        body = node.child_by_field_name("body") if node.type == "function_definition" else None
        kind = node.child_by_field_name("type")
        if body is None or body.type != "compound_statement" or kind is None:
            continue
        declarator = node.child_by_field_name("declarator")
        pointer = declarator is not None and declarator.type == "pointer_declarator"
        empty = kind.text == b"void" and not pointer
        found.append((body.start_byte, body.end_byte, "{ }" if empty else "{ return 0; }"))
    for start, end, put in sorted(found, reverse=True):
        text = text[:start] + put + text[end:]
    return text if found else ""
