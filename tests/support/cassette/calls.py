"""What is asked of a program, known by content: never by the names of jobs, by seeds, or by where files lie.

Everything that nvcc makes bears a mark at its end: the key of the call that made it. A copy bears it, too.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.support.cassette.scrub import Scrub

OUTSIDE = ("nvidia-smi", "nvcc", "cuobjdump", "ncu", "compute-sanitizer")
"""The programs that a GPU host provides."""
OTHERS = "--query-compute-apps"
"""What nvidia-smi is asked to say who computes: never recorded, since it is about the machine's own processes."""
SOURCES = (".cu", ".c", ".cc", ".cpp", ".cxx")
NOT_LINKED = {
    "-shared", "--shared", "-c", "--compile", "-dc", "--device-c", "-lib", "--lib", "-cubin", "--cubin", "-ptx",
    "--ptx", "-fatbin", "--fatbin",
}  # fmt: skip
ADDED = (",-fno-gnu-unique",)
"""What kpd has come to add to its own flags since the first cassettes were recorded: a build is known without it."""
CANDIDATE, LATER = "-DKPD_CANDIDATE", "-DNVTX_DISABLE"
"""A flag of all builds of candidates, and one that has come since."""
LINKED = ("-shared", "-Xlinker", "-z,defs")
"""The flags of the first kpd that recorded, which compiled and linked a candidate in one call: so is a build known."""
TIME, BOUNDS = "time", "bounds"
"""The driver's mode whose answers differ each time, and the one that makes a file: see kpd/measure/driver."""
ALONE = ("alone", "solo")
"""The modes of a process that times one kernel alone: it is answered as the timing that it once was."""
FRESH, REPEAT = "fresh", "repeat"
"""The modes of the audit on fresh inputs, and of the calls on unchanged ones, which may come before it in its job."""
TURN = "KPD_TURN"
"""In the environment of a process that takes a turn on the device: its number in the job."""
JUDGED = ("check", TIME)
"""The driver's modes that had rtol and atol before their last argument when the first cassettes were recorded."""
USUAL = {"inputs": "normal,constant,heavy_tail,denormal,large", "compare": "elementwise"}
"""The settings of the driver that a call is known without, because the first cassettes had no others."""
# kpd's own sources in a staged tree do not count: a cassette can be replayed by a kpd whose driver is newer.
_OWN = re.compile(r"/trees/[0-9a-f]{64}/kpd/")
_SETTING = re.compile(r"[a-z]+=")
_NUMBERED = re.compile(r"(\d+)\.so\Z")
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MARK = re.compile(rb"\n# kpd cassette ([0-9a-f]{64})\n\Z")
_DIRECTORIES = re.compile(r"((?:^|(?<==)|(?<=^-I)|(?<=^-L))/)(?:[^/]*/)*")


class Call(NamedTuple):
    """`words` say for people what is asked for.

    `makes` is empty, "object", "linked", "driver", "program" or "report", at `target`. What is linked has the key of
    the call that made the object that it is linked from, and no answer of its own. Nor has kpd's driver, which was part
    of each program when the first cassettes were recorded.

    What is `ordered` is answered in the order in which it was recorded, everything else as it was last. A job numbers
    the calls that take turns from 1, some of which may be under way together; `number` is 0 where it does not.
    """

    key: str
    words: str
    makes: str = ""
    target: Path = Path()
    ordered: bool = False
    number: int = 0


def mark(key: str) -> bytes:
    """What stands at the end of a file that the call with this key has made."""
    return b"\n# kpd cassette %b\n" % key.encode()


def named(argument: str) -> Path | None:
    """The file that an argument names."""
    try:
        return path if (path := Path(argument)).is_file() else None
    except (OSError, ValueError):  # a list of metrics is too long to be the name of one
        return None


def maker(argument: str) -> str:
    """The key of the call that has made the file that is named; empty when none has."""
    if (path := named(argument)) is None:
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(mark("0" * 64))))
        found = _MARK.search(file.read())
    return found.group(1).decode() if found else ""


def call(program: str, arguments: list[str], scrub: Scrub) -> Call:
    """`program` is a name, or the path of a program that nvcc has made."""
    if "/" in program:
        settings, arguments = _settings(arguments)
        mode = arguments[0] if arguments else ""
        if mode in ALONE:
            mode = arguments[0] = TIME
        if mode in JUDGED:
            tolerances = [settings.pop(name) for name in ("rtol", "atol") if name in settings]
            arguments = [*arguments[:-1], *tolerances, arguments[-1]]
        made = arguments.pop(2) if mode == BOUNDS else ""
        if mode == FRESH:
            del arguments[3]  # which object is loaded first is drawn
        given = [f"{name}={_plain(value, scrub)}" for name, value in settings.items() if USUAL.get(name) != value]
        parts = ["@" + maker(program), *given, *(_plain(argument, scrub) for argument in arguments)]
        if mode in (TIME, FRESH):
            numbered = _NUMBERED.search("".join(arguments[1:2]))
            words = "timings of this pair" if mode == TIME else "audits of this pair on fresh inputs"
            return Call(_hash(parts), words, ordered=True, number=int(numbered[1]) if numbered else 0)
        words = f"`{' '.join([Path(program).name, mode])}` of these files"
        turn = int(os.environ.get(TURN, "0")) if mode == REPEAT else 0
        return Call(_hash(parts), words, "report" if made else "", Path(made), number=turn)
    if program == "nvcc" and "-lib" in arguments:
        return Call(_hash(["driver"]), "kpd's driver", "driver", Path(_after(arguments, "-o")))
    if program == "nvcc" and any(map(named, arguments)):
        made = next(filter(None, map(maker, arguments)), "")
        if made and not any(argument.endswith(SOURCES) for argument in arguments):
            return Call(made, "a link of this object", "linked", Path(_after(arguments, "-o")))
        return _build(_in_one_call(_without_driver(arguments)), scrub)
    launched = next((at for at, argument in enumerate(arguments) if maker(argument)), None)
    if program == "ncu" and launched is not None:
        return _profile(arguments[:launched], [_plain(argument, scrub) for argument in arguments[launched:]])
    parts = [program, *(_plain(argument, scrub) for argument in arguments)]
    return Call(_hash(parts), f"`{' '.join(parts)[:120]}`")


def pages(report: Path) -> list[list[str]]:
    """How kpd asks ncu for a report's tables, where it cannot read the report itself."""
    return [["--import", str(report), "--csv", "--print-units", "base", "--page", page] for page in ("raw", "details")]


def _settings(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The driver's settings, which stand before its mode, and the rest."""
    count = next((at for at, argument in enumerate(arguments) if not _SETTING.match(argument)), len(arguments))
    return dict(argument.split("=", 1) for argument in arguments[:count]), arguments[count:]


def _build(arguments: list[str], scrub: Scrub) -> Call:
    target = _after(arguments, "-o", "--output-file") or "a.out"
    folders = [Path(argument[2:]) for argument in arguments if argument.startswith("-I")]
    given = [argument for argument in arguments if argument.endswith(SOURCES) and named(argument)]
    files = _closure([Path(source) for source in given], [Path(), *folders])
    parts = ["nvcc", *(Path(source).name for source in given[:1])]
    aside = {target, "-o", "--output-file", *given}
    parts += [_plain(_as_ever(argument), scrub) for argument in arguments if argument not in aside]
    names = ", ".join(file.partition(" ")[0] for file in files)
    made = "object" if NOT_LINKED.intersection(arguments) else "program"
    return Call(_hash(parts + files), f"a build of this code ({names})", made, Path(target))


def _without_driver(arguments: list[str]) -> list[str]:
    """How the first kpd that recorded would have built this program, but for the names of its own sources."""
    whole = next((at for at, argument in enumerate(arguments) if argument == "--whole-archive"), None)
    return arguments if whole is None else arguments[: whole - 1] + arguments[whole + 4 :]


def _in_one_call(arguments: list[str]) -> list[str]:
    """How the first kpd that recorded would have built this candidate; other builds are as they ever were."""
    if CANDIDATE not in arguments or "-c" not in arguments:
        return arguments
    words = [argument for argument in arguments if argument not in {"-c", LATER, "-Xptxas", "-v"}]
    after, source = words.index(CANDIDATE) + 1, words.index("-I.") + 1
    return [*words[:after], "-Xptxas", "-v", *words[after:source], *LINKED, *words[source:]]


def _as_ever(argument: str) -> str:
    """A flag as the first kpd that recorded gave it."""
    return next((argument.removesuffix(added) for added in ADDED if argument.endswith(added)), argument)


def _profile(options: list[str], launched: list[str]) -> Call:
    """Which metrics are asked for does not count: of those that were not recorded the report says nothing."""
    report = _after(options, "-o", "--export")
    target = Path(report if report.endswith(".ncu-rep") else report + ".ncu-rep")
    whole = _after(options, "--set")
    words = f"a {whole} profile of this program".replace("  ", " ")
    return Call(_hash(["ncu", whole, *launched]), words, "report" if report else "", target)


def _closure(sources: Iterable[Path], folders: list[Path]) -> list[str]:
    """The sources and all that they include by name, as "NAME HASH", without kpd's own."""
    found = {}
    waiting = [source.resolve() for source in sources]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        text = path.read_bytes()
        found[path] = "" if _OWN.search(str(path)) else f"{path.name} {hashlib.sha256(text).hexdigest()}"
        for name in _INCLUDE.findall(text):
            places = [folder / name.decode(errors="replace") for folder in (path.parent, *folders)]
            waiting += [place.resolve() for place in places if place.is_file()][:1]
    return sorted(file for file in found.values() if file)


def _plain(argument: str, scrub: Scrub) -> str:
    """A file is what it holds, wherever it lies; of other paths only the name counts."""
    if (path := named(argument)) is not None:
        return "@" + (maker(argument) or hashlib.sha256(scrub.binary(path.read_bytes())).hexdigest())
    return _DIRECTORIES.sub("", argument)


def _after(arguments: list[str], *names: str) -> str:
    at = next((at for at, argument in enumerate(arguments[:-1]) if argument in names), None)
    return "" if at is None else arguments[at + 1]


def _hash(parts: list[str]) -> str:
    hashed = hashlib.sha256()
    for part in parts:
        raw = part.encode(errors="replace")
        hashed.update(b"%d " % len(raw) + raw)
    return hashed.hexdigest()
