"""Interprets a compiler's messages: whose fault an error is, and the relevant lines."""

import re
from typing import Literal

from kpd.hosts.host import JobResult
from kpd.model.faults import NotBuilt
from kpd.text.numbers import counted

LOG_LIMIT = 64_000
MOST_ERRORS = 5
# gcc, clang, nvcc ("kernel.cu(3): error:") and linkers; then ptxas and nvlink ("error   :", "line 25; fatal   :").
_ERROR = re.compile(
    r"\b(fatal )?error:|undefined reference|undefined symbol|[Uu]ndefined symbols|multiple definition"
    r"|: cannot find (?!entry)|\b(error|fatal) *:"
)
_WARNING = re.compile(r"\bwarning( #[\w-]+)? *:")
_IN_SOURCE = re.compile(r"(?P<file>[^\s:(]+\.([chs]|cu|cuh|hpp))(:\d+|\(\d+\)):")
_TOOL = re.compile(r"^(?P<tool>ptxas|nvlink|nvcc)( +\S+, line (?P<line>\d+);)? +(error|fatal) *: *")

FILE_MIB = 512
"""The most MiB of a file that a compiler makes: an object with all of a kernel's variants has a few."""
_NO_MEMORY = re.compile(
    r"^[^\n]*(out of memory|virtual memory exhausted|memory exhausted|[Cc]annot allocate memory|std::bad_alloc)",
    re.MULTILINE,
)
_EXCERPT = re.compile(r"^[ \t]*\d*[ \t]*\|.*$", re.MULTILINE)  # of the source, below an error
_NO_ROOM = re.compile(r"File size limit exceeded|File too large|signal 25\b")

Kind = Literal["structural", "semantic", "timeout"]
MEANING: dict[Kind, str] = {
    "structural": "the pieces do not fit: flags, includes, linking",
    "semantic": "the code itself is wrong",
    "timeout": "less has to be unrolled or instantiated",
}


class BuildError(Exception):
    """The candidate does not build. `str()` is the first error, `log` the whole output, `kind` a key of MEANING.

    `limit_s` is set when the compiler did not finish within that many seconds.
    """

    def __init__(self, message: str, log: str, kind: Kind, limit_s: float | None = None) -> None:
        super().__init__(message)
        self.log = log
        self.kind: Kind = kind
        self.limit_s = limit_s

    @property
    def fault(self) -> NotBuilt:
        """The error as a candidate's fault."""
        return NotBuilt(str(self), self.kind, self.limit_s)

    @property
    def told(self) -> str:
        """The text for the agent that repairs the candidate: the kind of error and the important lines of the log."""
        if self.kind == "timeout":
            return f"{self}: {MEANING[self.kind]}"
        return f"a {self.kind} error ({MEANING[self.kind]}):\n{useful(self.log)}"


def limits(memory_mib: int) -> str:
    """Return shell that limits the memory and the files of each process of a build, where the system can do that."""
    return f"ulimit -d {memory_mib << 10} 2>/dev/null\nulimit -f {FILE_MIB << 11} 2>/dev/null\n"


def over_limit(log: str, memory_mib: int) -> BuildError | None:
    """Return the error of a failed compilation that hit one of `limits`; None where none did."""
    said = _EXCERPT.sub("", log)
    if _NO_MEMORY.search(said):
        return BuildError(f"the compiler needs more than {memory_mib} MiB of memory", log, "timeout")
    if _NO_ROOM.search(said):
        return BuildError(f"the compiler makes a file of more than {FILE_MIB} MiB", log, "timeout")
    return None


def refuse_cut_off(result: JobResult, log: str, limit_s: float) -> None:
    """Raise BuildError for a compiler that was ended: it was too slow, or took too much."""
    if result.reason == "timeout":
        raise BuildError(f"the compiler did not finish within {limit_s:g} s", log, "timeout", limit_s)
    if result.excess:
        raise BuildError(f"the compiler took more than {result.excess}", log, "timeout")


def readable(stderr: bytes) -> str:
    """Decode what the compiler printed; keep at most LOG_LIMIT characters."""
    text = stderr.decode(errors="replace")
    return (
        text
        if len(text) <= LOG_LIMIT
        else f"{text[:LOG_LIMIT]}\n[{counted(len(text) - LOG_LIMIT, 'more character')}]\n"
    )


def useful(log: str) -> str:
    """Return the first errors with the source lines below them, or the whole log when no line looks like an error."""
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
        kept.append(f"[{counted(errors - MOST_ERRORS, 'more error')}]")
    return "\n".join(kept) + "\n" if kept else log


def first_error(log: str) -> str:
    """Return the first error of a compiler's log in one line, at most 300 characters."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    error = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "the compiler gave no reason")
    if tool := _TOOL.match(error):  # its input is a temporary file, whose name says nothing
        line = f" (line {tool['line']} of the PTX)" if tool["line"] else ""
        return f"{tool['tool']}{line}: {error[tool.end() :]}"[:300]
    return re.sub(r"^\./|^/\S*/(?=[^/\s:]+:)|(fatal )?error: ", "", error)[:300]


def kind_of(log: str) -> Kind:
    """Classify the first error of a failed compilation."""
    first = next((line for line in log.splitlines() if _ERROR.search(line)), "")
    if first.startswith("ptxas "):  # its only linking error
        return "structural" if "Unresolved extern" in first else "semantic"
    place = _IN_SOURCE.match(first)
    in_source = place and not place["file"].rsplit("/")[-1].startswith("harness.") and "fatal error:" not in first
    return "semantic" if in_source else "structural"


def warnings(log: str) -> int:
    """Count the compiler's warnings."""
    return len(_WARNING.findall(log))
