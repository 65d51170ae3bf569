"""The same of Python: what a task's other files take from an editable module, and whether a candidate still has it.

What cannot be parsed is left to the task's own commands: they may run another Python than this one.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

Texts = Mapping[str, str]
LONGEST = 1 << 18
"""Characters of a module that is parsed: a tree takes a thousand times the memory."""
Arguments = ast.FunctionDef | ast.AsyncFunctionDef


def broken(incumbent: Texts, candidate: Texts, protected: Texts) -> Iterator[str]:
    """What the candidate no longer offers as the incumbent did, a sentence each."""
    for path, text in incumbent.items():
        before, after = _parsed(path, text), _parsed(path, candidate.get(path, ""))
        if before is None or after is None:
            continue
        for name, where in _taken(path, protected):
            if name not in _bound(before):
                continue
            if name not in _bound(after):
                yield f"{path} no longer defines `{name}`, which {where} imports"
                continue
            old, new = _bound(before)[name], _bound(after)[name]
            if isinstance(old, Arguments) and isinstance(new, Arguments) and not _takes_the_same(old, new):
                yield f"{path}:{new.lineno}: the signature is `{_head(new)}`, but {where} needs `{_head(old)}`"


def emptied(incumbent: Texts, candidate: Texts) -> Iterator[str]:
    """Functions whose body was not empty, and is now."""
    for path, text in candidate.items():
        before, after = _parsed(path, incumbent.get(path, "")), _parsed(path, text)
        if before is None or after is None:
            continue
        full = {name for name, each in _functions(before) if not _empty(each)}
        still = {name for name, each in _functions(after) if not _empty(each)}
        for name, each in _functions(after):
            if name in full - still and _empty(each):
                yield f"{path}:{each.lineno}: the body of `{name}` is empty"


def _parsed(path: str, text: str) -> ast.Module | None:
    if not path.endswith(".py") or len(text) > LONGEST:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _taken(path: str, protected: Texts) -> Iterator[tuple[str, str]]:
    """Each name that a protected file takes from the module `path`, and which file that is."""
    module = PurePosixPath(path).with_suffix("")
    names = {".".join(module.parts[at:]) for at in range(len(module.parts))}
    for where, text in protected.items():
        tree = _parsed(where, text)
        if tree is None:
            continue
        aliases = {
            alias.asname or alias.name
            for node in ast.walk(tree) if isinstance(node, ast.Import)
            for alias in node.names if alias.name in names
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in names:
                yield from ((alias.name, where) for alias in node.names)
            elif isinstance(node, ast.Attribute) and _is_module(node.value, names, aliases):
                yield node.attr, where


def _is_module(node: ast.expr, names: set[str], aliases: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    argument = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return name == "import_module" and isinstance(argument, ast.Constant) and argument.value in names


def _bound(tree: ast.Module) -> dict[str, ast.AST]:
    """The names that the module has once it is imported, as far as can be seen, each with what binds it last."""
    found: dict[str, ast.AST] = {}
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0]: node for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = node
        waiting += reversed(list(ast.iter_child_nodes(node)))
    return found


def _functions(tree: ast.Module) -> list[tuple[str, Arguments]]:
    return [(node.name, node) for node in ast.walk(tree) if isinstance(node, Arguments)]


def _takes_the_same(old: Arguments, new: Arguments) -> bool:
    """Whether every call that suits `old` suits `new`: further arguments need a default."""
    before, after = _positional(old), _positional(new)
    for at, (name, optional) in enumerate(before):
        if at >= len(after):
            return new.args.vararg is not None and new.args.kwarg is not None
        if after[at][0] != name or (optional and not after[at][1]):
            return False
    keywords = {each.arg for each in new.args.kwonlyargs}
    if new.args.kwarg is None and not {each.arg for each in old.args.kwonlyargs} <= keywords:
        return False
    needed = [each.arg for each, given in zip(new.args.kwonlyargs, new.args.kw_defaults, strict=True) if given is None]
    return all(optional for _, optional in after[len(before) :]) and set(needed) <= {
        each.arg for each in old.args.kwonlyargs
    }


def _head(function: Arguments) -> str:
    """Names alone: an annotation or a default of a candidate may be anything."""
    given = [f"{name}=…" if optional else name for name, optional in _positional(function)]
    given += [f"*{function.args.vararg.arg}"] if function.args.vararg else []
    given += [f"{each.arg}=…" for each in function.args.kwonlyargs]
    given += [f"**{function.args.kwarg.arg}"] if function.args.kwarg else []
    return f"{function.name}({', '.join(given)})"


def _positional(function: Arguments) -> list[tuple[str, bool]]:
    """Names in order, and whether each has a default."""
    given = [*function.args.posonlyargs, *function.args.args]
    without = len(given) - len(function.args.defaults)
    return [(each.arg, at >= without) for at, each in enumerate(given)]


def _empty(function: Arguments) -> bool:
    """Whether it holds but words, `pass`, `...`, or an error that says that there is nothing."""
    for node in function.body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.Raise) and any(
            isinstance(each, ast.Name) and each.id == "NotImplementedError" for each in ast.walk(node)
        ):
            continue
        return False
    return True
