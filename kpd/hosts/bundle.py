"""The helper as bytes to send: its modules' source, for a one-line program on the host to load into memory."""

import json
from functools import cache
from pathlib import Path

# Loaded in this order, so that each finds what it imports.
MODULES = ("wire", "files", "store", "supervisor", "jobs", "serve")
PACKAGES = ("kpd", "kpd.hosts", "kpd.hosts.helper")

# What a transport gives to `python3 -I -S -c`. It reads descriptor 0 itself: a buffered reader would swallow frames.
BOOTSTRAP = """
import json, os, sys, types
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


@cache
def bundle() -> bytes:
    """Eight digits of length and a JSON list of [module name, source], as BOOTSTRAP reads it."""
    folder = Path(__file__).parent / "helper"
    modules = [(name, "") for name in PACKAGES]
    modules += [(f"kpd.hosts.helper.{name}", (folder / f"{name}.py").read_text()) for name in MODULES]
    raw = json.dumps(modules).encode()
    return b"%08d" % len(raw) + raw
