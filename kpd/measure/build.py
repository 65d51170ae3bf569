"""From a staged tree to a loadable kernel: one job a build, whose id is its content, so that the host is the cache."""

import re
from typing import Literal

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec
from kpd.measure import flags as allow_list
from kpd.measure import jobs
from kpd.measure.bench import Object, Say
from kpd.measure.toolchain import OWN, Toolchain

SOURCE = "kernel.c"
OBJECT = "kernel.so"
ASSEMBLY = "kernel.s"
REMARKS = "vectorization.txt"
LINKING = 3
"""The exit status of a build script whose link failed."""
LOG_LIMIT = 64_000
MOST_ERRORS = 5
_ERROR = re.compile(r"\b(fatal )?error:|undefined reference|undefined symbol|[Uu]ndefined symbols|multiple definition")
_WARNING = re.compile(r"\bwarning:")
_NO_COMPILER = re.compile(r"^(gcc|clang|cc): (fatal )?error: cannot execute", re.MULTILINE)

Kind = Literal["structural", "semantic"]


class BuildError(Exception):
    """The candidate does not build. `str()` is the first error, `log` what the compiler said.

    `kind` is "structural" when the pieces do not fit (flags, includes, linking), "semantic" when the code is wrong.
    """

    def __init__(self, message: str, log: str, kind: Kind) -> None:
        super().__init__(message)
        self.log = log
        self.kind: Kind = kind


async def build(
    host: Host, tools: Toolchain, tree: str, flags: tuple[str, ...], limit_s: float, say: Say | None = None
) -> Object:
    """Compile `kernel.c` of the tree with these flags. Raises BuildError, or HostError for the host's own trouble.

    The job's `out/` holds the object, its assembly and the compiler's remarks on vectorisation.
    """
    text = script(host, tools, tree, tools.flags(flags))
    id = jobs.key("build", tools.identity, text)
    result = await jobs.run(host, JobSpec(id, text, limit_s), say)
    log = readable(result.stderr)
    if result.rc == 127 or _NO_COMPILER.search(log):
        await host.forget(id)  # it must not stay in the cache
        raise HostError("no_compiler", f"{host.name}: {first_error(log)}")
    if result.reason == "timeout":
        raise BuildError(f"the compiler did not finish within {limit_s:g} s", log, "semantic")
    if result.rc != 0:
        raise BuildError(first_error(log), useful(log), "structural" if result.rc == LINKING else kind_of(log))
    warnings = len(_WARNING.findall(log))
    return Object(job=id, cached=result.cached, flags=" ".join(flags), warnings=warnings, log=log)


def candidate_flags(raw: bytes) -> tuple[str, ...]:
    """The flags in a candidate's build.json. Raises BuildError: a flag that is refused is the candidate's fault."""
    try:
        return allow_list.of_build_json(raw)
    except allow_list.FlagError as err:
        raise BuildError(str(err), str(err), "structural") from err


def script(host: Host, tools: Toolchain, tree: str, flags: tuple[str, ...]) -> str:
    """The assembly is made first and the object from it, so that what people read is what runs."""
    given = jobs.words((*flags, *OWN))
    link = tools.link('"$out/kernel.o"', f'"$out/{OBJECT}"')
    compile_ = f"{tools.command} {given}"
    if tools.family == "gcc":
        remarks = f": >$out/{REMARKS}\n"
        compile_to = f'{compile_} -fopt-info-vec-all="$out/{REMARKS}" -S {SOURCE} -o "$out/{ASSEMBLY}" || exit 1\n'
    else:
        passes = " ".join(f"-Rpass{kind}=loop-vectorize" for kind in ("", "-missed", "-analysis"))
        remarks = f'{compile_} {passes} -w -fno-caret-diagnostics -c {SOURCE} -o "$out/.o" 2>"$out/{REMARKS}"\n'
        compile_to = f'{compile_} -S {SOURCE} -o "$out/{ASSEMBLY}" || exit 1\n'
    return (
        f'out="$PWD/out"\ncd {jobs.words([f"{host.root}/trees/{tree}"])} || exit {jobs.GONE}\n'
        f"{remarks}{compile_to}"
        f'{tools.command} {given} -w -c "$out/{ASSEMBLY}" -o "$out/kernel.o" || exit 1\n'
        f"{link} || exit {LINKING}\n"
    )


def readable(stderr: bytes) -> str:
    """What the compiler said, at most LOG_LIMIT characters of it."""
    text = stderr.decode(errors="replace")
    return text if len(text) <= LOG_LIMIT else f"{text[:LOG_LIMIT]}\n[{len(text) - LOG_LIMIT} more characters]\n"


def useful(log: str) -> str:
    """The first errors with the source lines that follow them; the whole log where no line looks like an error."""
    kept: list[str] = []
    errors = 0
    follows = False
    for line in log.splitlines():
        if _ERROR.search(line):
            errors += 1
            follows = errors <= MOST_ERRORS
        elif not line.startswith(" "):
            follows = False
        if follows:
            kept.append(line)
    if errors > MOST_ERRORS:
        kept.append(f"[{errors - MOST_ERRORS} more errors]")
    return "\n".join(kept) + "\n" if kept else log


def first_error(log: str) -> str:
    """One line for a table."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    error = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "the compiler gave no reason")
    return re.sub(r"^\S*/(?=[^/\s:]+:)|(fatal )?error: ", "", error)[:300]


def kind_of(log: str) -> Kind:
    """What the first error of a failed compilation is about."""
    first = next((line for line in log.splitlines() if _ERROR.search(line)), "")
    in_source = re.match(r"[^\s:]+\.[chs]:\d+", first) and "fatal error:" not in first
    return "semantic" if in_source else "structural"
