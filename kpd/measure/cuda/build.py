"""Compiles a staged tree to a loadable kernel: one job per build, its id a hash of the inputs."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from kpd.hosts.host import Host
from kpd.measure import jobs, seals
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.compiling import (
    BuildError,
    first_error,
    kind_of,
    limits,
    over_limit,
    readable,
    refuse_cut_off,
    warnings,
)
from kpd.measure.cuda.nvcc import ALLOWED, CudaToolchain, refuse_no_compiler
from kpd.measure.cuda.sources import UNIT
from kpd.measure.driver.harness import OBJECT
from kpd.measure.elsewhere import Builds
from kpd.measure.flags import FlagError
from kpd.measure.objects.inspect import OBJECT_FILE
from kpd.measure.run_context import RunContext

PTXAS = "ptxas.txt"
LINKING = ("-shared", "-Xlinker", "-z,defs,-Bsymbolic,--wrap=__cudaRegisterVar")
"""nvcc's arguments that make an object which the driver loads: kpd's own part notes what variables are registered."""
MEMORY_MIB = 16384
"""The most MiB of memory of a compiler's process: cicc may need thousands for heavy templates."""


async def build(
    host: Host, tools: CudaToolchain, tree: str, flags: tuple[str, ...], limit_s: float, say: Say | None = None,
    where: RunContext | None = None, units: tuple[str, ...] = (UNIT,), builds: Builds | None = None,
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> BuiltObject:  # fmt: skip
    """Compile each of these `units` of the tree with these flags, and make one object of all.

    The job's `out/` folder holds the object, and what ptxas prints about each kernel. `builds` may run elsewhere, with
    the tree of these `files`. Raises BuildError, or HostError for the host's own trouble.
    """

    def text(at: Host) -> str:
        return script(at, tools, tree, tools.flags(flags), units)

    id = jobs.key("build", tools.identity, text(host))
    builds = builds or Builds(host, where or RunContext(), tools.identity, lambda facts: "")
    result = await builds.run(id, text, files, limit_s, say)
    log = readable(result.stderr)
    refuse_cut_off(result, log, limit_s)
    if result.rc != 0:
        await refuse_no_compiler(host, result, log)
        if (over := over_limit(log, MEMORY_MIB)) is not None:
            raise over
        raise BuildError(first_error(log), log, kind_of(log))
    given = " ".join(flags)
    return BuiltObject(id, result.cached, given, warnings(log), log, seals.taken(result.stdout), not result.cached)


def candidate_flags(raw: bytes, arch: str, fast_math: bool) -> tuple[str, ...]:
    """Parse the flags in a candidate's build.json, for a GPU of `arch`. Raises BuildError when one is not allowed."""
    try:
        flags = replace(ALLOWED, fast_math=fast_math).of_build_json(raw)
        for flag in flags:
            if flag.startswith("-arch=") and not re.fullmatch(f"-arch={arch}[af]?", flag):
                raise FlagError(f"{flag} does not run on this GPU; leave it out, or add a or f to -arch={arch}")
    except FlagError as err:
        raise BuildError(str(err), str(err), "structural") from err
    return flags


def script(
    host: Host, tools: CudaToolchain, tree: str, flags: tuple[str, ...], units: tuple[str, ...] = (UNIT,)
) -> str:
    """Return the shell script of a build. What ptxas prints goes to a file and to stderr: both share nvcc's stream.

    Without -fno-gnu-unique a static variable of an inline function or a template would be one variable for all objects
    of a process. Without NVTX_DISABLE the headers of CUB would load a profiler's library.
    """
    own = ("-DKPD_CANDIDATE", "-DNVTX_DISABLE", "-Xcompiler", "-fPIC,-fno-gnu-unique", "-Ikpd", "-I.")
    compile_ = jobs.words((tools.nvcc, *flags, *own, "-Xptxas", "-v", "-c"))
    object = f'"$out/{OBJECT_FILE}"'
    objects = [f'"$out/unit{nth}.o"' for nth in range(len(units))] if len(units) > 1 else [object]
    steps = [f"{compile_} {jobs.words([unit])} -o {to}" for unit, to in zip(units, objects, strict=True)]
    if len(units) > 1:
        steps += [f"ld -r -o {object} {' '.join(objects)}", f"rm {' '.join(objects)}"]
    return (
        f"{limits(MEMORY_MIB)}"
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f'{{ {" && ".join(steps)}; }} 2>"$out/{PTXAS}"\n'
        f'status=$?\ncat "$out/{PTXAS}" >&2\n[ $status -eq 0 ] || exit $status\n'
        f'{jobs.words((tools.nvcc, *flags, *LINKING))} {object} -o "$out/{OBJECT}" || exit $?\n'
        f"{seals.TAKE}"
    )
