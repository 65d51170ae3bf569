"""Bundles the helper's source for sending; a one-line program on the host loads it into memory."""

import base64
import json
import re
from functools import cache
from pathlib import Path

from kpd.hosts.errors import HostError

# Loaded in this order, so that each finds what it imports.
MODULES = (
    "wire", "files", "store", "processes", "children", "sandbox", "lock", "smi", "gpu", "lease", "supervisor", "folder",
    "follow", "jobs", "clean", "tunnel", "runs", "holders", "serve",
)  # fmt: skip
PACKAGES = ("kpd", "kpd.hosts", "kpd.hosts.helper")

# What a transport gives to `python3 -I -S -c`. It reads descriptor 0 itself: a buffered reader would swallow frames.
# An older Python has to be able to parse it, to be told that it is too old.
BOOTSTRAP = """
import json, os, sys, types
if sys.version_info < (3, 6):
    sys.exit("kpd needs Python 3.6 or later, this is %d.%d" % sys.version_info[:2])
def take(n):
    data = b""
    while len(data) < n:
        part = os.read(0, n - len(data))
        if not part:
            sys.exit("the pipe closed before the helper had arrived")
        data += part
    return data
for name, source in json.loads(take(int(take(8))).decode()):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["kpd.hosts.helper.serve"].main()
"""


def command(python: str) -> str:
    """Return BOOTSTRAP as one command line for a login shell: sh, bash, csh and fish read it alike.

    `python` is a name on the host's PATH, or a path there, which may begin with `~/`. Raises HostError (config) for
    anything that is neither.
    """
    home, rest = ("~/", python[2:]) if python.startswith("~/") else ("", python)
    if not rest or not re.fullmatch(r"""[^'"`\\!$\x00-\x1f]+""", rest) or rest.startswith("-"):
        raise HostError("config", f"python = {python!r} is not a program's name or path")
    word = home + (rest if re.fullmatch(r"[\w./+-]+", rest, re.ASCII) else f"'{rest}'")
    program = base64.b64encode(BOOTSTRAP.encode()).decode()
    return f"exec {word} -I -S -c 'import base64,sys;exec(base64.b64decode(sys.argv[1]))' {program}"


@cache
def bundle() -> bytes:
    """Return the helper's source as BOOTSTRAP reads it: its length in eight digits, JSON of [module name, source]."""
    folder = Path(__file__).parent / "helper"
    modules = [(name, "") for name in PACKAGES]
    modules += [(f"kpd.hosts.helper.{name}", (folder / f"{name}.py").read_text()) for name in MODULES]
    raw = json.dumps(modules).encode()
    return b"%08d" % len(raw) + raw
