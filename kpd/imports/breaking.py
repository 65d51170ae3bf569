"""Breaks a kernel, to see whether anything notices: bodies are emptied, or outputs are zeros."""

import ast
import re

from kpd.source.text import blank, code
from kpd.source.tree import grammar, parsed, walk

_ZEROED = """
def _kpd_zeros(value):
    if isinstance(value, (tuple, list)):
        return type(value)(_kpd_zeros(one) for one in value)
    if isinstance(value, dict):
        return {key: _kpd_zeros(one) for key, one in value.items()}
    return value if value is None or isinstance(value, (str, bytes, bool)) else value * 0


def _kpd_broken(function):
    return lambda *given, **named: _kpd_zeros(function(*given, **named))


"""


def broken(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a candidate with wrong results; empty where kpd does not know how to break any of them."""
    found = {}
    for path, data in files.items():
        text = data.decode(errors="replace")
        made = _python(text) if path.endswith(".py") else _compiled(path, text) if path.endswith(_SUFFIXES) else ""
        if made and made != text:
            found[path] = made.encode()
    return found


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\[\s\S])*", re.MULTILINE)
_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu")


def _python(text: str) -> str:
    """Let every plain function at the top, and every method `forward`, return zeros of what it returned."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    names = [node.name for node in body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    classes = [
        node.name
        for node in body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(m, ast.FunctionDef) and m.name == "forward" for m in node.body)
    ]
    lines = [f"{name} = _kpd_broken({name})" for name in names if _returns(body, name)]
    lines += [f"{name}.forward = (lambda f: _kpd_broken(f))({name}.forward)" for name in classes]
    if lines:
        return f"{text}\n{_ZEROED}" + "\n".join(lines) + "\n"
    emptied = [node for node in body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    if not emptied:
        return ""
    return f"{text}\n" + "".join(f"\n\ndef {node.name}(*given, **named):\n    return None\n" for node in emptied)


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
