"""Chooses the C compiler of a host (gcc or clang), and lists the flags that a candidate may set."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from kpd.hosts.errors import HostError
from kpd.hosts.preflight.probe import HostFacts
from kpd.measure.flags import DEFINE, AllowList

Family = Literal["gcc", "clang"]
OWN = ("-fPIC", "-Wall", "-Wno-psabi", "-iquote", ".")
"""The flags of every build of a kernel. A kernel may use vectors wider than the machine's: hence -Wno-psabi.

A file in a subfolder may include another by its path from the task's folder."""


@dataclass(frozen=True, slots=True)
class CToolchain:
    """A C compiler. `version` is the first line it prints. `identity` is all that a build's outcome may depend on."""

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
        """Return a candidate's flags as this compiler spells them: clang on Arm has -mcpu=native for -march=native."""
        if self.family == "clang" and self.machine in ("arm64", "aarch64"):
            return tuple("-mcpu=native" if flag == "-march=native" else flag for flag in flags)
        return flags

    @property
    def cpp(self) -> "CToolchain":
        """The compiler of C++ beside it; that a host lacks it shows when it is first used."""
        return replace(self, command={"gcc": "g++", "clang": "clang++"}.get(self.command, "c++"))

    @property
    def places(self) -> bool:
        """Whether the linker takes a script that says where functions lie: that of macOS does not."""
        return self.system != "Darwin"

    def link(self, objects: str, target: str) -> str:
        """Return the command that links a shared object in which no symbol is undefined.

        Its own variables are those of its names, also where a library has one of that name. It has none of a
        candidate's flags: -ffast-math makes gcc link start-up code that flushes denormals to zero in the whole
        process, and so for the incumbent, too.
        """
        strict = "-Wl,-z,defs -Wl,-Bsymbolic " if self.places else ""
        return f"{self.command} -shared {strict}-o {target} {objects} -lm"

    def merge(self, objects: str, target: str) -> str:
        """Return the command that makes one object of several."""
        return f"{self.command} -nostdlib -r -o {target} {objects}"


def choose(host: str, facts: HostFacts) -> CToolchain:
    """Choose gcc if it is GNU's, else clang, else cc; on macOS all of them are clang.

    Raises HostError (no_compiler) when the host has none.
    """
    compilers = facts["compilers"]
    for command in ("gcc", "clang", "cc"):
        version = compilers.get(command, "")
        if version and not (command == "gcc" and "clang" in version and "clang" in compilers):
            family: Family = "clang" if "clang" in version else "gcc"
            return CToolchain(command, family, version, facts["system"], facts["machine"], facts["cpu"])
    raise HostError("no_compiler", f"{host} has no C compiler")


_SWITCHES = (
    "align-functions", "align-loops", "associative-math", "builtin", "cx-limited-range",
    "expensive-optimizations", "fast-math", "finite-math-only", "fp-int-builtin-inexact", "gcse",
    "gcse-after-reload", "gcse-las", "inline", "inline-functions", "inline-small-functions", "ipa-cp-clone",
    "ipa-pta", "ivopts", "jump-tables", "loop-interchange", "loop-nest-optimize", "loop-unroll-and-jam",
    "math-errno", "modulo-sched", "move-loop-invariants", "omit-frame-pointer", "openmp-simd", "peel-loops",
    "plt", "predictive-commoning", "prefetch-loop-arrays", "reciprocal-math", "rename-registers",
    "rounding-math", "schedule-insns", "schedule-insns2", "semantic-interposition", "signaling-nans",
    "signed-zeros", "slp-vectorize", "split-loops", "split-paths", "stack-protector", "strict-aliasing",
    "strict-overflow", "tracer", "trapping-math", "tree-loop-distribution", "tree-loop-im",
    "tree-loop-vectorize", "tree-partial-pre", "tree-pre", "tree-slp-vectorize", "tree-vectorize",
    "unroll-all-loops", "unroll-loops", "unsafe-math-optimizations", "unswitch-loops",
    "variable-expansion-in-unroller", "vectorize", "version-loops-for-strides", "wrapv",
)  # fmt: skip
_NUMBERED = ("align-functions", "align-jumps", "align-labels", "align-loops", "inline-limit")
_CHOICES = {
    "-ffp-contract": ("fast", "off", "on"),
    "-fvect-cost-model": ("cheap", "dynamic", "unlimited", "very-cheap"),
    "-fsimd-cost-model": ("cheap", "dynamic", "unlimited", "very-cheap"),
    "-fexcess-precision": ("fast", "standard"),
    "-mprefer-vector-width": ("128", "256", "512", "none"),
    "-mrecip": ("all", "default", "none"),
    "-std": (
        *(f"{base}{year}" for base in ("c", "gnu") for year in ("99", "11", "17", "18", "2x", "23")),
        *(f"{base}++{year}" for base in ("c", "gnu") for year in ("11", "14", "17", "20", "23")),
    ),
}
_INSTRUCTIONS = (
    r"3dnow|abm|adx|aes|amx-\w+|avx\w*(\.\d)?|bmi2?|clwb|cx16|f16c|fma4?|fsgsbase|gfni|lzcnt|mmx|movbe|movdir\w+|pclmul"
    r"|popcnt|prefetchw\w*|rdrnd|sha|sse[34]?(\.[12])?|sse4a|ssse3|tbm|vaes|vpclmulqdq|vzeroupper|xop"
)
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        r"-O([0-3sgz]|fast)?",
        r"-m(arch|cpu|tune)=[A-Za-z0-9][A-Za-z0-9._+-]*",
        rf"-m(no-)?({_INSTRUCTIONS})",
        rf"-f({'|'.join(_NUMBERED)})=\d{{1,4}}",
        r"--param=[a-z][a-z0-9-]*=\d{1,9}",
    )
)
_NAMES = frozenset(
    [f"-f{no}{name}" for name in _SWITCHES for no in ("", "no-")]
    + [f"{name}={value}" for name, values in _CHOICES.items() for value in values]
)
_INEXACT = re.compile(
    r"-Ofast|-f(fast-math|unsafe-math-optimizations|associative-math|reciprocal-math|finite-math-only|cx-limited-range)"
    r"|-mrecip=.*"
)
ALLOWED = AllowList(_NAMES, (*_SHAPES, DEFINE), inexact=_INEXACT)
