"""`.harnessgym` folders as their own program leaves them: a server that frames its messages, a skill, a registry."""

import json
from pathlib import Path
from typing import Any

SERVER = """\
import json, os, sys
WORKSPACE = sys.argv[sys.argv.index("--workspace") + 1] if "--workspace" in sys.argv else "."
def read():
    length = 0
    for line in iter(sys.stdin.buffer.readline, b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
    sys.exit(0)
def write(message):
    body = json.dumps(message, indent=1).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()
def answer(method, params):
    if method == "initialize":
        known = {"name": "t", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": known}
    if method == "tools/list":
        return {"tools": [{"name": "inspect", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": ", ".join(sorted(os.listdir(WORKSPACE)))}]}
if "--self-test" in sys.argv:
    sys.exit(0 if os.path.exists(os.path.join(WORKSPACE, "kernel.c")) else "no kernel in " + WORKSPACE)
while True:
    message = read()
    if "id" in message:
        write({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params"))})
"""
TESTS = """\
import pathlib
assert (pathlib.Path(__file__).parents[1] / "mcp" / "tune_it" / "server.py").exists()
"""
MANIFEST = {
    "name": "Tune_It harness", "command": "python3", "args": ["server.py", "--workspace", "../../.."],
    "cwd": ".harnessgym/mcp/tune_it", "enabled_tools": ["inspect"], "timeouts": {"tool_seconds": 300},
    "self_test": True,
}  # fmt: skip
FILES = {
    "mcp/tune_it/server.py": SERVER,
    "tests/test_tune_it.py": TESTS,
    "skills/tune-it/SKILL.md": "# Tuning\n\nWhen a loop is slow:\ncall inspect first.\n",
    "runs/r/summary.json": "{}",
}


def bundle(folder: Path, manifest: dict[str, Any] | None = None, **files: str) -> Path:
    """Write a workspace with such a folder; return the folder. The registry lacks most keys, as older ones do."""
    entries = [{"kind": "mcp", "path": ".harnessgym/mcp/tune_it/harnessgym-mcp.json"}, "no entry", {"kind": "test"}]
    whole = {
        **FILES,
        "mcp/tune_it/harnessgym-mcp.json": json.dumps(MANIFEST if manifest is None else manifest),
        "registry.json": json.dumps({"artifacts": entries}),
        **{path.replace("__", "/"): text for path, text in files.items()},
    }
    for path, text in whole.items():
        at = folder / ".harnessgym" / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)
    return folder / ".harnessgym"
