"""The CUDA toolkit of a host, for one of its GPUs."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult
from kpd.hosts.preflight.gpu_checks import NO_NVCC
from kpd.hosts.preflight.gpus import too_old
from kpd.hosts.preflight.probe import HostFacts
from kpd.measure.compiling import first_error
from kpd.model.places import Device

STANDARD = "-std=c++17"
HOST_COMPILERS = ("gcc", "cc", "clang")
_NO_COMPILER = re.compile(
    r"^nvcc fatal *: (Cannot find compiler|Failed to preprocess host compiler)|^\S*host_config\.h:.*#error",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class CudaToolchain:
    """`nvcc` is its path, `version` the toolkit's ("13.0"), `arch` the GPU's ("sm_90"), `compiler` the host's own."""

    nvcc: str
    version: str
    arch: str
    compiler: str

    @property
    def identity(self) -> str:
        """All that the outcome of a build may depend on."""
        return "\n".join((self.nvcc, self.version, self.arch, self.compiler))

    def beside(self, tool: str) -> str:
        """The path of another of the toolkit's programs, if it is there."""
        return str(PurePosixPath(self.nvcc).with_name(tool))

    def flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """`flags` after those of every build; what they set themselves is left to them, nvcc takes each only once."""
        own = {_subject(flag): flag for flag in ("-O3", f"-arch={self.arch}", STANDARD)}
        given = {_subject(flag) for flag in flags}
        return ("-lineinfo", *(flag for subject, flag in own.items() if subject not in given), *flags)


def choose(host: str, facts: HostFacts, device: Device) -> CudaToolchain:
    """The toolkit as probed, for this GPU. Raises HostError (no_compiler)."""
    if not facts["nvcc"]:
        raise HostError("no_compiler", f"{host} has no nvcc", NO_NVCC)
    if first := too_old(facts["cuda"], device.arch):
        message = f"CUDA {facts['cuda']} on {host} cannot build for {device.name} ({device.arch})"
        raise HostError("no_compiler", message, f"install CUDA {first} or later, or give its folder as cuda_home")
    compiler = next((facts["compilers"][name] for name in HOST_COMPILERS if facts["compilers"].get(name)), "")
    return CudaToolchain(facts["nvcc"], facts["cuda"], device.arch or "native", compiler)


async def refuse_no_compiler(host: Host, result: JobResult, log: str) -> None:
    """Raises HostError when nvcc, or the host's compiler that it needs, is not there; the job is forgotten then."""
    if result.rc == 127 or _NO_COMPILER.search(log):
        await host.forget(result.id)
        raise HostError("no_compiler", f"{host.name}: {first_error(log)}", "install a gcc that this CUDA works with")


def _subject(flag: str) -> str:
    """What a flag sets: `-O2` and `-O3` the same."""
    return "-O" if re.fullmatch(r"-O\d", flag) else flag.partition("=")[0].replace("--", "-", 1)
