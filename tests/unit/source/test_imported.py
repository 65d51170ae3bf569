"""What importing a Python module runs, and what it does not."""

import ast

import pytest
from hypothesis import assume, given, strategies as st

from kpd.source.imported import imported

WORD = "perf_counter"
NOT_RUN = {
    "a docstring": 'def f():\n    """Timed with perf_counter."""\n    return 1\n',
    "a docstring of the module": '"""Timed with\nperf_counter."""\nx = 1\n',
    "a text on its own": "x = 1\n'perf_counter'\ny = 2\n",
    "beside characters of several bytes": 'é = "µ"; """µ perf_counter"""; y = 1\n',
    "the main program": 'def f(): return 1\nif __name__ == "__main__":\n    t = perf_counter()\n    print(t)\n',
    "the main program on one line": 'if __name__ == "__main__": perf_counter()\n',
    "the main program of a module that has a logger": "log = getLogger(__name__)\n"
    'if __name__ == "__main__":\n    perf_counter()\n',
}
RUN = {
    "code behind a docstring": '"""x"""; perf_counter()\n',
    "a text that is used": 'x = "perf_counter"\n',
    "a docstring that is read": 'def f():\n    """perf_counter()"""\ng = f.__doc__\n',
    "a docstring of which something is run": 'def f():\n    """perf_counter()"""\nexec(g(f))\n',
    "where it is another one": 'if __name__ == "kernel":\n    perf_counter()\n',
    "where it is not the main program": 'if __name__ == "__main__":\n    pass\nelse:\n    perf_counter()\n',
    "where it says that it is": '__name__ = "__main__"\nif __name__ == "__main__":\n    perf_counter()\n',
    "where it may say that it is": 'of["__name__"] = "__main__"\nif __name__ == "__main__":\n    perf_counter()\n',
    "where it may be renamed": 'globals()["__na" + "me__"] = m\nif __name__ == "__main__":\n    perf_counter()\n',
    "where a file may rename it": 'from helper import *\nif __name__ == "__main__":\n    perf_counter()\n',
    "where letters are others": 'from h import m as __ｎame__\nif __name__ == "__main__":\n    perf_counter()\n',
    "in another encoding": '# coding: utf-7\ndef f():\n    """+ACIAIgAi-; perf_counter()"""\n',
    "a docstring that is tested": 'import doctest\ndef f():\n    """>>> perf_counter()"""\n',
    "a docstring that is a constant": 'def f():\n    """perf_counter()"""\ng(f.__code__.co_consts[0])\n',
    "within a function": 'def f():\n    if __name__ == "__main__":\n        perf_counter()\n',
    "a text that cannot be parsed": '"""perf_counter"""\nx = (\n',
    "lines that begin elsewhere": '"""x"""\rperf_counter()\n',
}


@pytest.mark.parametrize("what", NOT_RUN)
def test_what_importing_does_not_run_is_blank(what: str) -> None:
    text = NOT_RUN[what]
    left = imported(text)
    assert WORD not in left
    assert [len(line.encode()) for line in left.split("\n")] == [len(line.encode()) for line in text.split("\n")]


@pytest.mark.parametrize("what", RUN)
def test_what_it_runs_is_there(what: str) -> None:
    assert WORD in imported(RUN[what])


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 50_000 + "1", "x" + ".a" * 50_000, "\0", "x = 1" + " " * 50_000 + "$"]
)
def test_text_that_no_parser_takes_is_as_it_was(text: str) -> None:
    assert imported(text) == text


@given(st.text())
def test_any_text_has_its_lines(text: str) -> None:
    assert imported(text).count("\n") == text.count("\n")


@given(st.sampled_from([*NOT_RUN.values(), *RUN.values()]), st.sampled_from([*NOT_RUN.values(), *RUN.values()]))
def test_code_stays_where_it_is(first: str, second: str) -> None:
    assume("\r" not in first + second)
    try:
        tree = ast.parse(first + second)
    except SyntaxError:
        return
    left = imported(first + second)
    lines = left.encode().split(b"\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert lines[node.lineno - 1][node.col_offset :].startswith(b"def ")
