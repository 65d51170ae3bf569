"""Inspects the object that a build left on a host: its tables here, its code with the host's own disassembler."""

from dataclasses import dataclass

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.objects import elf, instructions, sass
from kpd.measure.objects.allowed import Allowed
from kpd.measure.run_context import RunContext
from kpd.model.flags import Flag, NotInspected
from kpd.text import flags as text

OBJECT_FILE = "kernel.o"
"""The object that a compiler made of a candidate alone, before it is linked with any library."""
LIMIT_S = 60.0
LARGEST = 64 << 20
"""The most bytes of an object, or of a listing of a GPU's code, that are read; and …"""
LARGEST_LISTING = 16 << 20
"""… of a listing of a CPU's, each line of which is looked at: g++ -O3 makes 7 MB of a thousand templates."""
MOST_FLAGS = 64
"""So many are told; and …"""
LONGEST_FLAG = 1000
"""… so many characters of each."""
CPU_CODE, GPU_CODE = "cpu.txt", "gpu.txt"
NO_TOOL, NO_GPU_TOOL, FAILED = 3, 4, 5
"""The exit statuses of the job where no disassembler is installed, or none for a GPU's code, and where one failed."""
MISSING = {
    NO_TOOL: "has no objdump; install GNU binutils",
    NO_GPU_TOOL: "has no cuobjdump; install that part of the CUDA toolkit",
}


@dataclass(frozen=True, slots=True)
class Inspector:
    """How objects of a language are inspected: what they may call, and NVIDIA's cuobjdump for code of a GPU.

    `begins_late`: what an object asks to have called when it is loaded is called later, as a kernel is.
    """

    allowed: Allowed
    where: RunContext
    cuobjdump: str = ""
    begins_late: bool = False

    async def flags(self, host: Host, built: str, say: Say | None = None) -> tuple[Flag, ...]:
        """List what looks wrong with the object of build job `built`. Raises HostError."""
        return told(await self._found(host, built, say))

    async def _found(self, host: Host, built: str, say: Say | None) -> tuple[Flag, ...]:
        data, why = await _read(host, built, OBJECT_FILE, LARGEST)
        if why:
            return (NotInspected(why),)
        if data[:4] in elf.MACH_O:
            return ()
        found = elf.tables(data, self.allowed, self.begins_late)
        if any(isinstance(flag, NotInspected) for flag in found):  # its code may be as much as its tables
            return found
        return (*found, *await self._code(host, built, say))

    async def _code(self, host: Host, built: str, say: Say | None) -> tuple[Flag, ...]:
        script = self._script(jobs.out(host, built, OBJECT_FILE))
        id = jobs.key("inspect", built, script)
        result = await jobs.run(host, self.where.spec(id, script, LIMIT_S), say)
        if (missing := MISSING.get(result.rc)) is not None:
            await host.forget(id)  # somebody may install it
            return (NotInspected(f"{host.name} {missing}"),)
        if result.rc != 0:
            return (NotInspected(f"its code cannot be read: {jobs.tail(result.stderr) or result.reason}"),)
        cpu, why = await _read(host, id, CPU_CODE, LARGEST_LISTING)
        gpu, why_not = await _read(host, id, GPU_CODE, LARGEST) if self.cuobjdump else (b"", "")
        if said := why or why_not:
            return (NotInspected(said),)
        return (*instructions.of_cpu(cpu.decode(errors="replace")), *sass.of_gpu(gpu.decode(errors="replace")))

    def _script(self, path: str) -> str:
        object, listed = jobs.words([path]), f'>"out/{CPU_CODE}"'
        lines = [
            f"[ -e {object} ] || exit {jobs.GONE}",
            f"tool=$(command -v objdump || command -v llvm-objdump) || exit {NO_TOOL}",
            f'"$tool" -d -r -w --no-show-raw-insn {object} {listed} || exit {FAILED}',
        ]
        if self.cuobjdump:  # a toolkit can be installed without it
            tool = jobs.words([self.cuobjdump])
            lines += [f"command -v {tool} >/dev/null || exit {NO_GPU_TOOL}"]
            lines += [f'{tool} -sass {object} >"out/{GPU_CODE}" || exit {FAILED}']
        return "\n".join(lines) + "\n"


def told(found: tuple[Flag, ...]) -> tuple[Flag, ...]:
    """Return each flag once. A candidate chooses names: those that are too long or too many are only counted."""
    every = tuple(dict.fromkeys(found))
    kept = [flag for flag in every if len(text.flag(flag)) <= LONGEST_FLAG][:MOST_FLAGS]
    rest = len(every) - len(kept)
    if rest:
        kept.append(NotInspected(f"it has {rest} more flags, which are too many or too long to be told"))
    return tuple(kept)


async def _read(host: Host, job: str, name: str, most: int) -> tuple[bytes, str]:
    """Read a file of a job, or return why it is not read: it is too large. Raises HostError."""
    try:
        return await host.read(jobs.out(host, job, name), most), ""
    except HostError as err:
        if err.kind != "too_large":
            raise
        return b"", f"{name} is larger than {most >> 20} MiB"
