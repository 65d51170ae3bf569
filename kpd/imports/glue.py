"""Writes the small programs that stand between a foreign command and kpd: they run it, and print one JSON object."""

import json
from collections.abc import Mapping
from typing import Any

CHECK = "kpd_check.py"
BENCH = "kpd_bench.py"

_HEAD = '''"""Written by kpd when it imported this task: runs the task's own program, and prints one JSON object."""

import json
import subprocess
import sys
import time

COMMAND = {command}
begun = time.perf_counter()
ended = subprocess.run(COMMAND, shell=True, stdout=subprocess.PIPE, text=True, errors="replace")
seconds = time.perf_counter() - begun
sys.stderr.write(ended.stdout)
'''
_CHECK = '''if ended.returncode != 0:
    sys.exit(ended.returncode if ended.returncode > 0 else 1)


def said(text):
    """Return the last JSON object that begins a line; kpd reads what it says about the result."""
    for at in reversed(range(len(text))):
        if text[at] == "{" and (at == 0 or text[at - 1] == "\\n"):
            try:
                return json.JSONDecoder().raw_decode(text, at)[0]
            except ValueError:
                continue
    return {}


print(json.dumps({"said": said(ended.stdout), "ok": True}))
'''


def check(command: str) -> bytes:
    """Return a program that runs a check, and prints {"ok": true} where that exits with 0.

    What the check says in a JSON object of its own is printed, too, and so judged by kpd.
    """
    return (_HEAD.format(command=json.dumps(command)) + _CHECK).encode()


def bench(command: str, code: str, constants: Mapping[str, Any] | None = None) -> bytes:
    """Return a program that runs a command, and then `code`: it knows `ended.stdout`, the output, and the `seconds`."""
    given = "".join(f"{name} = {value!r}\n" for name, value in (constants or {}).items())
    return (_HEAD.format(command=json.dumps(command)) + given + code).encode()
