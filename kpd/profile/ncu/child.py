"""Reads a report in a separate process; see `read`."""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kpd.model.codec import CodecError, decode
from kpd.profile.ncu.launches import ProfiledLaunch
from kpd.text.foreign import plain
from kpd.workspace.environment import child_environment

LIMIT_S = 60.0
LARGEST = 8 << 20
"""The most bytes of JSON: a launch has about five thousand."""


class UnreadableReport(Exception):
    """The files are not a readable report; the message says why."""


async def launches(files: Mapping[str, bytes], limit_s: float = LIMIT_S) -> tuple[ProfiledLaunch, ...]:
    """Read the launches of a report, given as `read`'s files by name. Raises UnreadableReport."""
    with tempfile.TemporaryDirectory(prefix="kpd-ncu-") as folder:
        for name, content in files.items():
            await asyncio.to_thread((Path(folder) / name).write_bytes, content)
        said, error = await _run(folder, limit_s)
    if error:
        raise UnreadableReport(error)
    try:
        found = decode(said, tuple[ProfiledLaunch, ...])
    except CodecError as err:
        raise UnreadableReport(f"the output of the reader is not a report: {err}") from err
    if not found:  # NVIDIA's reader returns an empty report for a file that is not one
        raise UnreadableReport("it holds no kernel launch")
    return found


async def _run(folder: str, limit_s: float) -> tuple[bytes, str]:
    """Run the reader; return what it printed and, if it failed, why."""
    # -P: a module in the workspace does not replace one of Python's own.
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "kpd.profile.ncu.read", folder,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=child_environment(), start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        async with asyncio.timeout(limit_s):
            said, errors = await asyncio.gather(_most(child.stdout, LARGEST), _most(child.stderr, LARGEST))
            status = await child.wait()
    except TimeoutError:
        return b"", f"reading the report took longer than {limit_s:g} s"
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if status:
        words = errors.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        return b"", plain(words) or f"the reader ended with {status}"
    return said, ""


async def _most(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read a stream to its end, so that its writer can end, and return its first `limit` bytes."""
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        kept += piece[: limit - len(kept)]
    return bytes(kept)
