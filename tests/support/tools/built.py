"""Tools as agents build them: plain files, with a server that needs nothing but Python."""

from pathlib import Path

SERVER = """\
import json, os, subprocess, sys, time
TOOLS = {tools!r}
def answer(message):
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        known = {{"name": "t", "version": "1"}}
        return {{"protocolVersion": version, "capabilities": {{"tools": {{}}}}, "serverInfo": known}}
    if method == "tools/list":
        return {{"tools": [{{"name": name, "inputSchema": {{"type": "object"}}}} for name in TOOLS]}}
    if method == "tools/call":
        return called(message["params"]["name"], message["params"].get("arguments") or {{}})
    return {{}}
def called(name, given):
    {body}
    text = open("kernel.c").read().count(given.get("word", "a"))
    return {{"content": [{{"type": "text", "text": f"{{name}}: {{text}}"}}]}}
if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(0 if os.path.exists({self_test!r}) else "no such file: " + {self_test!r})
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}}), flush=True)
"""
"""A server that counts words in the task's kernel."""
TESTS = """\
import pathlib
assert "def called" in pathlib.Path(__file__).parents[1].joinpath("server.py").read_text()
"""
MANIFEST = """\
name = "{name}"
summary = "counts words of the kernel"
server = ["python3", "server.py"]
self_test = ["python3", "server.py", "--self-test"]
tests = ["python3", "tests/test_server.py"]
call_s = {call_s}
[samples.count]
word = "b"
"""


def server_tool(
    name: str = "word-count", body: str = "pass", tools: tuple[str, ...] = ("count",), self_test: str = "kernel.c",
    call_s: float = 5.0,
) -> dict[str, str]:  # fmt: skip
    """A tool with a server: `body` is a statement before each answer, `self_test` the file that its self-test needs."""
    return {
        "tool.toml": MANIFEST.format(name=name, call_s=call_s),
        "server.py": SERVER.format(tools=tools, body=body, self_test=self_test),
        "tests/test_server.py": TESTS,
    }


SKILL = {
    "tool.toml": 'name = "loop-notes"\nsummary = "what helps in loops"\n',
    "SKILL.md": "# Loops\n\nWhen a loop repeats work:\nmove the work out of it.\n",
}
"""A tool that is a skill alone."""


def write_tool(folder: Path, files: dict[str, str]) -> Path:
    """Write a tool's files into a new folder, and return that."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def as_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}
