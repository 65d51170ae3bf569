"""Bundles the helper's source for sending; a one-line program on the host loads it into memory."""

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kpd.hosts.errors import HostError

# Loaded in this order, so that each finds what it imports.
MODULES = (
    "wire", "files", "store", "processes", "children", "sandbox", "lock", "smi", "gpu", "lease", "usage", "supervisor",
    "folder", "follow", "jobs", "clean", "tunnel", "runs", "holders", "serve",
)  # fmt: skip
PLAIN = re.compile(r"""[^'"`\\!$\x00-\x1f]+""")  # what every shell takes as it is, in single quotes
PACKAGES = ("kpd", "kpd.hosts", "kpd.hosts.helper")

# What a transport gives to `python3 -I -S -c`. It reads descriptor 0 itself: a buffered reader would swallow frames.
# An older Python has to be able to parse it, to be told that it is too old.
_PROGRAM = """
import json, os, sys, types
if sys.version_info < (3, 6):
    sys.exit("kpd needs Python 3.6 or later, this is %%d.%%d" %% sys.version_info[:2])
def take(n):
    data = b""
    while len(data) < n:
        part = os.read(0, n - len(data))
        if not part:
            sys.exit("the pipe closed before the helper had arrived")
        data += part
    return data%s
for name, source in json.loads(take(int(take(8))).decode()):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(%s, module.__dict__)
sys.modules["kpd.hosts.helper.serve"].main()
"""
BOOTSTRAP = _PROGRAM % ("", 'compile(source, name, "exec")')

# The same for kpd's own Python, which keeps what it has compiled beside the source, in the folder that is its argument.
# Compiling takes a third of the helper's start. What runs is what has arrived: kept is only what the same source makes.
BOOTSTRAP_HERE = _PROGRAM % (
    """
def code(name, source):
    from importlib.machinery import SourceFileLoader
    kept = SourceFileLoader(name, os.path.join(sys.argv[1], name.rpartition(".")[2] + ".py"))
    try:
        same = kept.get_data(kept.path) == source.encode()
    except OSError:
        same = False
    return kept.get_code(name) if same else compile(source, name, "exec")""",
    "code(name, source)",
)
HELPER = Path(__file__).parent / "helper"


def command(python: str, enter: Sequence[str] = ()) -> str:
    """Return BOOTSTRAP as one command line for a login shell: sh, bash, csh and fish read it alike.

    `python` is a name on the host's PATH, or a path there, which may begin with `~/`; behind `enter`, the words of a
    command that starts a program in a container, it is one in the container. Raises HostError (config) for a program
    that is neither, and for a word that shells read in their own ways.
    """
    home, rest = ("~/", python[2:]) if python.startswith("~/") and not enter else ("", python)
    if not PLAIN.fullmatch(rest) or rest.startswith("-"):
        raise HostError("config", f"python = {python!r} is not a program's name or path")
    if strange := [word for word in enter if not PLAIN.fullmatch(word)]:
        remedy = "put the command into a script on the host, and name that"
        raise HostError("config", f"enter has a word that shells read in their own ways: {strange[0]!r}", remedy)
    words = " ".join(map(_quoted, (*enter, rest)))
    program = base64.b64encode(BOOTSTRAP.encode()).decode()
    return f"exec {home}{words} -I -S -c 'import base64,sys;exec(base64.b64decode(sys.argv[1]))' {program}"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./+-]+", word, re.ASCII) else f"'{word}'"


@cache
def bundle() -> bytes:
    """Return the helper's source as BOOTSTRAP reads it: its length in eight digits, JSON of [module name, source]."""
    modules = [(name, "") for name in PACKAGES]
    modules += [(f"kpd.hosts.helper.{name}", (HELPER / f"{name}.py").read_text()) for name in MODULES]
    raw = json.dumps(modules).encode()
    return b"%08d" % len(raw) + raw
