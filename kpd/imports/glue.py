"""Writes the small programs that stand between a foreign command and kpd: they run it, and print one JSON object."""

import json
from collections.abc import Mapping
from typing import Any

CHECK = "kpd_check.py"
BENCH = "kpd_bench.py"
SECOND = "kpd_second.py"

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
_SECOND = '''"""Written by kpd when it imported this task: a second opinion on a kernel, by the folder's own programs.

    python3 kpd_second.py           about the task's own kernel
    python3 kpd_second.py FOLDER    about the candidate whose files are in FOLDER

kpd itself does not run it. It ends with 1 where one of the commands fails.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PLACES = {places}
COMMANDS = {commands}
FOLDERS = {folders}
here = Path(__file__).resolve().parent
given = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
if not any((given / path).is_file() for path in PLACES):
    sys.exit(f"{{given}} has none of {{', '.join(PLACES)}}: name the folder of a candidate")
failed = 0
with tempfile.TemporaryDirectory(prefix="kpd-second-") as scratch:
    folder = Path(scratch) / here.name
    shutil.copytree(here, folder)
    for path, place in PLACES.items():
        if (given / path).is_file():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(given / path, folder / place)
    for place in FOLDERS:
        (folder / place).mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        print("$", command, flush=True)
        status = subprocess.run(command, shell=True, cwd=folder).returncode
        if status != 0:
            print(f"it ended with {{status}}", flush=True)
            failed = 1
sys.exit(failed)
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


def second(places: Mapping[str, str], commands: list[str], folders: list[str]) -> bytes:
    """Return a program that runs the folder's own commands on a candidate, whose files go to these places.

    The `folders` are made for what the commands write.
    """
    return _SECOND.format(places=dict(places), commands=commands, folders=folders).encode()
