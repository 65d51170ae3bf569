"""The C compiler of a host, and the few things in which gcc and clang differ."""

from dataclasses import dataclass
from typing import Literal

from kpd.hosts.errors import HostError
from kpd.hosts.preflight.probe import HostFacts

Family = Literal["gcc", "clang"]
OWN = ("-fPIC", "-Wall", "-Wno-psabi")
"""Flags of every build of a kernel. Vectors wider than the machine's are a kernel's own affair: no -Wpsabi."""


@dataclass(frozen=True, slots=True)
class CToolchain:
    """`version` is the compiler's own first line. `identity` is all that the outcome of a build may depend on."""

    command: str
    family: Family
    version: str
    system: str
    machine: str
    cpu: str

    @property
    def identity(self) -> str:
        return "\n".join((self.command, self.version, self.system, self.machine, self.cpu))

    def flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """A candidate's flags as this compiler has them: clang for Arm knows the CPU it is on as -mcpu=native."""
        if self.family == "clang" and self.machine in ("arm64", "aarch64"):
            return tuple("-mcpu=native" if flag == "-march=native" else flag for flag in flags)
        return flags

    def link(self, objects: str, target: str) -> str:
        """A shared object with nothing undefined. Never with a candidate's flags: -ffast-math makes gcc link start-up
        code that flushes denormals to zero in the whole process, so for the incumbent, too.
        """
        strict = "" if self.system == "Darwin" else "-Wl,-z,defs "
        return f"{self.command} -shared {strict}-o {target} {objects} -lm"


def choose(host: str, facts: HostFacts) -> CToolchain:
    """gcc if it is GNU's, else clang, else cc; on macOS all of them are clang. Raises HostError (no_compiler)."""
    compilers = facts["compilers"]
    for command in ("gcc", "clang", "cc"):
        version = compilers.get(command, "")
        if version and not (command == "gcc" and "clang" in version and "clang" in compilers):
            family: Family = "clang" if "clang" in version else "gcc"
            return CToolchain(command, family, version, facts["system"], facts["machine"], facts["cpu"])
    raise HostError("no_compiler", f"{host} has no C compiler")
