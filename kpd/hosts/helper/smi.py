"""Asks nvidia-smi for the compute processes of a GPU; it may be slow, hang, fail or be absent."""

import contextlib
import os
import re
import shutil
import signal
import time
from typing import Dict  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.children import Children

PROGRAM = "nvidia-smi"
PLACES = ("/usr/bin", "/usr/local/nvidia/bin", "/usr/local/cuda/bin")  # searched after the PATH
QUERY = ("--query-compute-apps=pid,process_name,gpu_uuid", "--format=csv,noheader,nounits")
PATIENCE = 5.0  # seconds that nvidia-smi has for an answer
MOST = 1 << 20  # bytes of an answer
LONGEST = 100  # characters of a process' name

Processes = Dict[int, str]  # noqa: UP006 - evaluated under Python 3.6 too: pid to name


class Unwatched(Exception):
    """A failure to learn from nvidia-smi who computes; the message says why."""


class SmiQuery:
    """One run of nvidia-smi. It may hang, so nothing blocks on it: `done` says when it has ended or timed out."""

    def __init__(self, children: Children, program: str) -> None:
        self.children = children
        self.said = b""
        self.deadline = time.monotonic() + PATIENCE
        self.answer, writing = os.pipe()
        try:
            os.set_blocking(self.answer, False)
            self.pid = children.spawn(lambda: run(program, writing))
            with contextlib.suppress(OSError):  # it has done so itself, and may be gone already
                os.setpgid(self.pid, self.pid)
        except OSError:
            os.close(self.answer)
            raise
        finally:
            os.close(writing)

    def done(self) -> bool:
        ended = self.children.status(self.pid) is not None  # asked first: then all of its output is there
        with contextlib.suppress(BlockingIOError):
            while len(self.said) < MOST:
                data = os.read(self.answer, MOST)
                if not data:
                    break
                self.said += data
        return ended or time.monotonic() > self.deadline

    def processes(self, device: str) -> Processes:
        """Return the compute processes on the device. Raises Unwatched."""
        status = self.children.status(self.pid)
        if status is None:
            raise Unwatched(f"{PROGRAM} gave no answer within {PATIENCE:g} s")
        lines = [line.strip() for line in self.said.decode(errors="replace").split("\n") if line.strip()]
        if status != 0:
            raise Unwatched(f"{PROGRAM} failed: {printable(lines[0])}" if lines else f"{PROGRAM} failed")
        found = {}
        for line in lines:
            if line.rpartition(",")[2].strip() == device:  # anything else is another device's, or a warning
                fields = re.match(r"(\d{1,9}) *,(.*),", line, re.DOTALL)
                if fields is None:
                    raise Unwatched(f"{PROGRAM} does not say which processes compute: {printable(line)}")
                found[int(fields.group(1))] = printable(fields.group(2).rpartition("/")[2])
        return found

    def close(self) -> None:
        """End the query with all processes that it may have started."""
        os.close(self.answer)
        if self.children.status(self.pid) is None:
            os.killpg(self.pid, signal.SIGKILL)


def run(program: str, answer: int) -> None:
    os.setpgid(0, 0)
    os.dup2(answer, 1)
    os.dup2(answer, 2)
    os.execve(program, [program, *QUERY], {"PATH": os.environ.get("PATH") or os.defpath, "LC_ALL": "C"})


def printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text.strip()[:LONGEST]).strip()


def find() -> str:
    """Return the path of nvidia-smi; empty when there is none."""
    path = os.pathsep.join((os.environ.get("PATH") or os.defpath, *PLACES))
    return shutil.which(PROGRAM, path=path) or ""
