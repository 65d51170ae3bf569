"""Compiles the kernel alone and the whole task with this machine's compiler, if there is one."""

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
"""Where nobody says for which GPU: any toolkit that kpd meets builds for it."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """nvcc on this machine. What it builds lies in a temporary folder, and is gone when the compiler is let go."""

    host: Host
    tools: CudaToolchain

    async def alone(self, kernel: str) -> str:
        """Return what nvcc says against the kernel's source as a file of its own; empty when it compiles. Raises HostError."""
        tree = await self.host.stage({"kernel.cu": kernel.encode()})
        command = jobs.words((self.tools.nvcc, *self.tools.flags(()), "-c", "kernel.cu"))
        script = f"cd {jobs.words([f'{self.host.root}/trees/{tree}'])} || exit {jobs.GONE}\n{command} -o /dev/null\n"
        result = await jobs.run(self.host, JobSpec(jobs.key("alone", self.tools.nvcc, script), script, COMPILED_S))
        if result.rc == 0:
            return ""
        log = readable(result.stderr)
        await refuse_no_compiler(self.host, result, log)
        return useful(log) or "nvcc came to no end"

    async def task(self, task: Task) -> tuple[HarnessCase, ...]:
        """Return the cases of the task as its compiled harness describes them. Raises BuildError, HostError."""
        return (await harness(self.host, self.tools, task)).cases


def nvcc() -> str:
    """Return the path of this machine's nvcc, empty without one."""
    found = shutil.which("nvcc")
    return found or (USUAL if Path(USUAL).exists() else "")


@asynccontextmanager
async def compiler(path: str, arch: str = ARCH) -> AsyncIterator[Compiler]:
    """Raise HostError."""
    with tempfile.TemporaryDirectory(prefix="kpd-") as folder:
        host = Host("local", PurePosixPath(folder), Local())
        await host.connect()
        try:
            yield Compiler(host, CudaToolchain(path, "", arch, ""))
        finally:
            await host.close()


def said(err: BuildError) -> str:
    """Return the compiler's words, as much of them as helps."""
    return f"{err}\n{useful(err.log)}".strip()
