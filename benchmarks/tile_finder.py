"""The server of a tool that `compare_tools.py` brings in: it times tiles of a transpose, and answers with the best.

It speaks the Model Context Protocol on its pipes, needs nothing but Python and a C compiler, and works in the copy of
the task: it compiles kernel.c for a few tiles, and writes nothing but programs in TMPDIR.
"""

import ctypes
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIDE = 2048
TILES = ((0, 0, 1), (16, 16, 4), (32, 32, 8), (64, 64, 8))
"""Rows and columns of a matrix; rows, columns and VEC of the tiles that are tried."""


def kernel(rows: int, cols: int, vec: int) -> str:
    text = Path("kernel.c").read_text()
    for name, value in (("TILE_ROWS", rows), ("TILE_COLS", cols), ("VEC", vec)):
        text = re.sub(rf"^#define {name} \d+", f"#define {name} {value}", text, flags=re.MULTILINE)
    return text


def seconds(text: str, folder: Path) -> float:
    """Compile a kernel, and return its shortest time of five."""
    (folder / "kernel.c").write_text(text)
    built = folder / f"{len(list(folder.iterdir()))}.so"
    include = ["-I", str(Path.cwd()), "-shared", "-fPIC", "-O3", "-march=native"]
    subprocess.run(["cc", *include, str(folder / "kernel.c"), "-o", str(built)], check=True, capture_output=True)
    transpose = ctypes.CDLL(str(built)).transpose
    matrix = ctypes.c_float * (SIDE * SIDE)
    source, result, times = matrix(), matrix(), []
    for _ in range(5):
        began = time.perf_counter()
        transpose(source, result, ctypes.c_long(SIDE), ctypes.c_long(SIDE))
        times.append(time.perf_counter() - began)
    return min(times)


def fastest() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return min((kernel(*tile) for tile in TILES), key=lambda text: seconds(text, Path(folder)))


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            known = {"name": "tile-finder", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": known}
        case "tools/list":
            return {"tools": [{"name": "fastest", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": fastest()}]}
    return {}


def main() -> None:
    if "--self-test" in sys.argv:
        assert "#define VEC 8" in kernel(32, 32, 8)
        return
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
