"""Chooses the CUDA toolkit of a host, for one of its GPUs, and lists the flags that a candidate may set."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult
from kpd.hosts.preflight.gpu_checks import NO_NVCC
from kpd.hosts.preflight.gpus import too_old
from kpd.hosts.preflight.probe import HostFacts
from kpd.measure.compiling import first_error
from kpd.measure.flags import DEFINE, AllowList
from kpd.model.hosts import Device

STANDARD = "-std=c++17"
NOT_ALLOWED = 126
"""A shell's exit status for a program that it may not run."""
HOST_COMPILERS = ("gcc", "cc", "clang")
_NO_COMPILER = re.compile(
    r"^nvcc fatal *: (Cannot find compiler|Failed to preprocess host compiler)|^\S*host_config\.h:.*#error",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class CudaToolchain:
    """A CUDA toolkit for one GPU.

    `nvcc` is its path, `version` the toolkit's ("13.0"), `arch` the GPU's ("sm_90"), `compiler` the version of the
    host's C compiler.
    """

    nvcc: str
    version: str
    arch: str
    compiler: str

    @property
    def identity(self) -> str:
        """All that the outcome of a build may depend on."""
        return "\n".join((self.nvcc, self.version, self.arch, self.compiler))

    def beside(self, tool: str) -> str:
        """Return the path that another program of the toolkit has if it is installed."""
        return str(PurePosixPath(self.nvcc).with_name(tool))

    def flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Put the flags of every build before `flags`, without those that `flags` sets: nvcc takes each only once."""
        own = {_subject(flag): flag for flag in ("-O3", f"-arch={self.arch}", STANDARD)}
        given = {_subject(flag) for flag in flags}
        return ("-lineinfo", *(flag for subject, flag in own.items() if subject not in given), *flags)


def choose(host: str, facts: HostFacts, device: Device) -> CudaToolchain:
    """Return the toolkit that the probe found, for this GPU. Raises HostError (no_compiler)."""
    if not facts["nvcc"]:
        raise HostError("no_compiler", f"{host} has no nvcc", NO_NVCC)
    if first := too_old(facts["cuda"], device.arch):
        message = f"CUDA {facts['cuda']} on {host} cannot build for {device.name} ({device.arch})"
        raise HostError("no_compiler", message, f"install CUDA {first} or later, or give its folder as cuda_home")
    compiler = next((facts["compilers"][name] for name in HOST_COMPILERS if facts["compilers"].get(name)), "")
    return CudaToolchain(facts["nvcc"], facts["cuda"], device.arch or "native", compiler)


async def refuse_no_compiler(host: Host, result: JobResult, log: str) -> None:
    """Raise HostError when nvcc, or the host compiler that it needs, is missing or closed; forget the job then."""
    if result.rc == 127 or _NO_COMPILER.search(log):
        await host.forget(result.id)
        raise HostError("no_compiler", f"{host.name}: {first_error(log)}", "install a gcc that this CUDA works with")
    if result.rc == NOT_ALLOWED:
        await host.forget(result.id)
        remedy = f"name its folder as `cuda_home`, or what it needs as `reads`, in [hosts.{host.name}] of config.toml"
        raise HostError("no_compiler", f"{host.name}: nvcc cannot be run in kpd's sandbox: {first_error(log)}", remedy)


def _subject(flag: str) -> str:
    """Return the setting that a flag changes: the same for `-O2` and `-O3`."""
    return "-O" if re.fullmatch(r"-O\d", flag) else flag.partition("=")[0].replace("--", "-", 1)


# nvcc takes its long names after one dash or two.
_SWITCHES = (
    "expt-extended-lambda", "expt-relaxed-constexpr", "extended-lambda", "extra-device-vectorization", "restrict",
    "use_fast_math",
)  # fmt: skip
_YES_NO = ("fmad", "ftz", "prec-div", "prec-sqrt")
_PTXAS = (
    r"-O[0-4]|-dlcm=(ca|cg|cs|lu|cv)|-dscm=(wb|cg|cs|wt)|--?allow-expensive-optimizations=(true|false)|-warn-spills"
)
_NAMES = frozenset(
    [f"{dashes}{name}" for name in _SWITCHES for dashes in ("-", "--")]
    + [f"{dashes}{name}={value}" for name in _YES_NO for value in ("true", "false") for dashes in ("-", "--")]
    + [f"{dashes}std=c++{year}" for year in (17, 20) for dashes in ("-", "--")]
    + [f"-O{level}" for level in range(4)]
)
_SHAPES = tuple(
    re.compile(shape, re.ASCII)
    for shape in (
        r"--?maxrregcount=\d{1,3}",
        rf"(-Xptxas|--ptxas-options)=({_PTXAS})(,({_PTXAS}))*",
        r"-arch=sm_\d{2,3}[af]?",
    )
)
_TAKES = frozenset(
    ["-Xptxas", "--ptxas-options"] + [f"{dashes}{name}" for name in ("maxrregcount", "std") for dashes in ("-", "--")]
)
_INEXACT = re.compile(r"--?(use_fast_math|ftz=true|prec-div=false|prec-sqrt=false)")
ALLOWED = AllowList(_NAMES, (*_SHAPES, DEFINE), _TAKES, _INEXACT)
