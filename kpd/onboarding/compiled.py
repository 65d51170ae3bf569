"""Compiles the kernel alone and the whole task, with this machine's compiler or that of the program's host."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host, JobSpec
from kpd.hosts.local import Local
from kpd.measure import jobs
from kpd.measure.compiling import BuildError, readable, useful
from kpd.measure.cuda.bench import COMPILED_S, harness
from kpd.measure.cuda.nvcc import CudaToolchain, refuse_no_compiler
from kpd.measure.driver.harness import HarnessCase
from kpd.workspace.task import Task

USUAL = "/usr/local/cuda/bin/nvcc"
ARCH = "sm_80"
"""The default architecture: every usual toolkit can build for it."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """nvcc on a host."""

    host: Host
    tools: CudaToolchain

    async def alone(self, kernel: str, flags: tuple[str, ...] = ()) -> str:
        """Compile the kernel's source as a file of its own.

        Returns nvcc's error, empty where it compiles. Raises HostError.
        """
        tree = await self.host.stage({"kernel.cu": kernel.encode()})
        command = jobs.words((self.tools.nvcc, *self.tools.flags(flags), "-c", "kernel.cu"))
        script = f"cd {jobs.words([f'{self.host.root}/trees/{tree}'])} || exit {jobs.GONE}\n{command} -o /dev/null\n"
        result = await jobs.run(self.host, JobSpec(jobs.key("alone", self.tools.nvcc, script), script, COMPILED_S))
        if result.rc == 0:
            return ""
        log = readable(result.stderr)
        await refuse_no_compiler(self.host, result, log)
        return useful(log) or "nvcc did not finish"

    async def task(self, task: Task) -> tuple[HarnessCase, ...]:
        """Compile the task, and return its cases as the harness describes them. Raises BuildError, HostError."""
        return (await harness(self.host, self.tools, task)).cases


def nvcc() -> str:
    """Return the path of this machine's nvcc; empty without one."""
    found = shutil.which("nvcc")
    return found or (USUAL if Path(USUAL).exists() else "")


@asynccontextmanager
async def compiler(path: str, arch: str = ARCH, reads: tuple[str, ...] = ()) -> AsyncIterator[Compiler]:
    """Run the block with this machine's compiler at `path`, which reads the folders `reads` besides. Raises HostError.

    It builds in a temporary folder, which is removed at the end.
    """
    with tempfile.TemporaryDirectory(prefix="kpd-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), reads=reads)
        await host.connect()
        try:
            yield Compiler(host, CudaToolchain(path, "", arch, ""))
        finally:
            await host.close()


def said(err: BuildError) -> str:
    """Return the helpful part of the compiler's messages."""
    return f"{err}\n{useful(err.log)}".strip()
