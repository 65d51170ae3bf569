"""Compiles a staged tree to a loadable kernel: one job per build, its id a hash of the inputs."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs, seals
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.c import layout
from kpd.measure.c.toolchain import ALLOWED, OWN, CToolchain
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
from kpd.measure.driver.harness import OBJECT
from kpd.measure.elsewhere import Builds
from kpd.measure.flags import FlagError
from kpd.measure.objects.inspect import OBJECT_FILE
from kpd.measure.run_context import RunContext

SOURCE = "kernel.c"
SUFFIXES = {"kernel.c": (".c",), "kernel.cpp": (".cpp", ".cc", ".cxx")}
"""The kernel's file in each language, and the suffixes of its units."""
ASSEMBLY = "kernel.s"
REMARKS = "vectorization.txt"
MEMORY_MIB = 4096
"""The most MiB of memory of a compiler's process: cc1 needs 100 for a kernel with many unrolled loops."""
LINKING, LAYING = 3, 4
"""The exit statuses of a build script whose link failed, and of one whose link with the functions moved failed."""
_NO_COMPILER = re.compile(
    r"^(gcc|clang|cc|g\+\+|clang\+\+|c\+\+): (fatal )?error: cannot execute|\b(g|clang|c)\+\+: (command )?not found",
    re.MULTILINE,
)


async def build(
    host: Host, tools: CToolchain, tree: str, symbol: str, flags: tuple[str, ...], limit_s: float,
    say: Say | None = None, where: RunContext | None = None, sources: tuple[str, ...] = (SOURCE,),
    builds: Builds | None = None, files: Mapping[str, bytes] = MappingProxyType({}),
) -> BuiltObject:  # fmt: skip
    """Compile each of these `sources` of the tree with these flags, and make one object of all; its kernel is `symbol`.

    The job's `out/` folder holds the object, its assembly, the compiler's remarks on vectorisation, and what `layout`
    needs to link the object anew. `builds` may run elsewhere, on the tree of these `files`. Raises BuildError, or
    HostError for the host's own trouble.
    """

    def text(at: Host) -> str:
        return script(at, tools, tree, symbol, tools.flags(flags), sources)

    id = jobs.key("build", tools.identity, text(host))
    builds = builds or Builds(host, where or RunContext(), tools.identity, lambda facts: "")
    result = await builds.run(id, text, files, limit_s, say)
    log = readable(result.stderr)
    if result.rc == 127 or _NO_COMPILER.search(log):
        await host.forget(id)  # it must not stay in the cache
        raise HostError("no_compiler", f"{host.name}: {first_error(log)}")
    refuse_cut_off(result, log, limit_s)
    if result.rc != 0 and (over := over_limit(log, MEMORY_MIB)) is not None:
        raise over
    if result.rc == LAYING:
        why = f"{sources[0]} links, but not with its functions and data moved by a script of GNU ld"
        raise BuildError(f"{why}: {first_error(log)}", log, "structural")
    if result.rc != 0:
        raise BuildError(first_error(log), log, "structural" if result.rc == LINKING else kind_of(log))
    given = " ".join(flags)
    return BuiltObject(id, result.cached, given, warnings(log), log, seals.taken(result.stdout), not result.cached)


def candidate_flags(raw: bytes, fast_math: bool) -> tuple[str, ...]:
    """Parse the flags in a candidate's build.json. Raises BuildError for a flag that is not allowed."""
    try:
        return replace(ALLOWED, fast_math=fast_math).of_build_json(raw)
    except FlagError as err:
        raise BuildError(str(err), str(err), "structural") from err


def lacks_optimisation(language: str, flags: str) -> bool:
    """Return whether this is C or C++ without an `-O` flag: then nothing is optimised. Spaces separate the flags."""
    return language in ("c", "c++") and not any(flag.startswith("-O") for flag in flags.split())


def script(
    host: Host, tools: CToolchain, tree: str, symbol: str, flags: tuple[str, ...], sources: tuple[str, ...] = (SOURCE,)
) -> str:
    """Return the shell script of a build.

    It makes the assembly first and the object from that, so that the code that people read is the code that runs.
    """
    object, assembly = f'"$out/{OBJECT_FILE}"', f'"$out/{ASSEMBLY}"'
    link = layout.link_plain(tools, object, f'"$out/{OBJECT}"')
    if len(sources) == 1:
        compiled = _compiled(tools, flags, sources[0], REMARKS, assembly, object)
    else:
        compiled = _compiled_together(tools, flags, sources)
    laid = ""
    if tools.places:
        tried = '"$out/laid.so"'
        relinked = layout.link(tools, '"$out"', "0", tried)
        laid = layout.copy_object(object, assembly, symbol)
        laid += f"{relinked} || exit {LAYING}\nrm {tried}\n"
    return (
        f"{limits(MEMORY_MIB)}"
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f"{compiled}"
        f"{link} || exit {LINKING}\n{laid}{seals.TAKE}"
    )


def _compiled(tools: CToolchain, flags: tuple[str, ...], source: str, remarks: str, assembly: str, object: str) -> str:
    """Return shell that compiles one source; `assembly` and `object` are words of it."""
    compile_ = f"{tools.command} {jobs.words((*flags, *OWN, *layout.OWN))}"
    own = jobs.words([source])
    if tools.family == "gcc":
        said = f": >$out/{remarks}\n"
        compile_to = f'{compile_} -fopt-info-vec-all="$out/{remarks}" -S {own} -o {assembly} || exit 1\n'
    else:
        passes = " ".join(f"-Rpass{kind}=loop-vectorize" for kind in ("", "-missed", "-analysis"))
        said = f'{compile_} {passes} -w -fno-caret-diagnostics -c {own} -o "$out/.o" 2>"$out/{remarks}"\n'
        compile_to = f"{compile_} -S {own} -o {assembly} || exit 1\n"
    return f"{said}{compile_to}{compile_} -w -c {assembly} -o {object} || exit 1\n"


def _compiled_together(tools: CToolchain, flags: tuple[str, ...], sources: tuple[str, ...]) -> str:
    """Return shell that compiles each source by itself and makes one object of all.

    The assembly that people read is that of all sources; the compiler's labels get the number of their source.
    """
    text = f': >"$out/{ASSEMBLY}"\n: >"$out/{REMARKS}"\n'
    for nth, source in enumerate(sources):
        own = f"unit{nth}"
        text += _compiled(tools, flags, source, f"{own}.txt", f'"$out/{own}.s"', f'"$out/{own}.o"')
        text += f'cat "$out/{own}.txt" >>"$out/{REMARKS}"\n'
        labels = jobs.words([rf"s/\.L\([A-Z]*[0-9]\)/.L{nth}_\1/g"])
        text += f'sed {labels} "$out/{own}.s" >>"$out/{ASSEMBLY}"\nrm "$out/{own}.s" "$out/{own}.txt"\n'
    objects = " ".join(f'"$out/unit{nth}.o"' for nth in range(len(sources)))
    merged = tools.merge(objects, f'"$out/{OBJECT_FILE}"')
    return f"{text}{merged} || exit {LINKING}\nrm {objects}\n"
