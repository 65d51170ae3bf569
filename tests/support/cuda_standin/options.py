"""nvcc's command line: the options that kpd and its tasks use, and nvcc's own words for the others."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SOURCES = {".cu", ".c", ".cpp", ".cc", ".cxx"}
_OBJECTS = {".o", ".a", ".so"}

# About device code, of which there is none here, or about messages.
_IGNORED = {
    "-lineinfo", "--generate-line-info", "-G", "--device-debug", "-use_fast_math", "--use_fast_math",
    "--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--extended-lambda", "-extended-lambda", "-restrict",
    "--expt-extended-lambda", "-res-usage", "--resource-usage", "-Wno-deprecated-gpu-targets", "--restrict",
    "-extra-device-vectorization", "--extra-device-vectorization", "-v", "--verbose",
}  # fmt: skip
_IGNORED_WITH_VALUE = {
    "-gencode", "--generate-code", "-Xptxas", "--ptxas-options", "-maxrregcount", "--maxrregcount", "-ftz", "--ftz",
    "-fmad", "--fmad", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt", "-diag-suppress", "--diag-suppress",
    "-threads", "--threads", "-rdc", "--relocatable-device-code", "-code", "--gpu-code", "-Werror",
}  # fmt: skip
_VALUED = {
    "-arch": "arch", "--gpu-architecture": "arch", "-std": "std", "--std": "std", "-o": "out", "--output-file": "out",
    "-cudart": "cudart", "--cudart": "cudart", "-O": "level", "--optimize": "level", "-x": "language",
    "--x": "language",
    "-I": "preprocess", "--include-path": "preprocess", "-isystem": "preprocess", "-D": "preprocess",
    "--define-macro": "preprocess", "-U": "preprocess", "-include": "preprocess", "--pre-include": "preprocess",
    "-L": "link", "-l": "link", "--library": "link", "--library-path": "link", "-Xcompiler": "host",
    "--compiler-options": "host", "-Xlinker": "linker", "--linker-options": "linker",
}  # fmt: skip
_SHORT = {"--include-path": "-I", "--define-macro": "-D", "--pre-include": "-include", "--library": "-l",
          "--library-path": "-L"}  # fmt: skip
_JOINED = re.compile(r"(-[IDULlO])(.+)")


class UsageError(Exception):
    """A command line that nvcc refuses; `str()` is what follows `nvcc fatal   : `."""


@dataclass(slots=True)
class Options:
    """A command line, read."""

    inputs: list[str] = field(default_factory=list)
    out: str = ""
    compile_only: bool = False
    shared: bool = False
    library: bool = False
    cudart: str = "static"
    language: str = ""
    preprocess: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)  # for g++, at compiling and linking
    link: list[str] = field(default_factory=list)
    standard: str = "c++17"
    level: str = ""  # of optimisation
    debug: bool = False
    quiet: bool = False


def read(arguments: Sequence[str]) -> Options:
    """The options of a command line; UsageError where nvcc would refuse them, or the stand-in cannot do them."""
    options = Options()
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            _input(options, argument)
        elif argument in ("-lib", "--lib"):
            options.library = True
        elif argument in ("-c", "--compile", "-shared", "--shared", "-g", "--debug", "-w", "--disable-warnings"):
            options.compile_only |= argument in ("-c", "--compile")
            options.shared |= argument in ("-shared", "--shared")
            options.debug |= argument in ("-g", "--debug")
            options.quiet |= argument in ("-w", "--disable-warnings")
        elif argument not in _IGNORED:
            _valued(options, argument, rest)
    if not options.inputs:
        raise UsageError("No input files specified; use option --help for more information")
    if options.compile_only and options.out and len(options.inputs) > 1:
        raise UsageError("A single input file is required for a non-link phase when an outputfile is specified")
    return options


def _valued(options: Options, argument: str, rest: Iterator[str]) -> None:
    name, equals, value = argument.partition("=")
    if argument.startswith(("-D", "-I", "-U")) and len(argument) > 2:
        name, equals, value = argument[:2], "=", argument[2:]
    elif name not in _VALUED and name not in _IGNORED_WITH_VALUE and (joined := _JOINED.fullmatch(argument)):
        name, equals, value = joined[1], "=", joined[2]
    if name in ("-cubin", "--cubin", "-ptx", "--ptx", "-fatbin", "--fatbin"):
        raise UsageError(f"the CPU stand-in makes no device code ('{name}')")
    if name not in _VALUED and name not in _IGNORED_WITH_VALUE:
        raise UsageError(f"Unknown option '{argument}'")
    if not equals:
        value = next(rest, "")
    if not value:
        raise UsageError(f"'{name}': expected an argument")
    if name in _VALUED:
        _set(options, name, value)


def _set(options: Options, name: str, value: str) -> None:
    match _VALUED[name]:
        case "arch":
            if not re.fullmatch(r"(sm|compute)_\d{2,3}[af]?|native|all|all-major", value):
                raise UsageError(f"Value '{value}' is not defined for option 'gpu-architecture'")
        case "std":
            if value not in ("c++03", "c++11", "c++14", "c++17", "c++20"):
                raise UsageError(f"Value '{value}' is not defined for option 'std'")
            options.standard = value
        case "cudart":
            if value not in ("static", "shared", "none"):
                raise UsageError(f"Value '{value}' is not defined for option 'cudart'")
            options.cudart = value
        case "out":
            options.out = value
        case "level":
            options.level = value
        case "language":
            if value not in ("cu", "c", "c++"):
                raise UsageError(f"Value '{value}' is not defined for option 'x'")
            options.language = value
        case "host":
            options.host += value.split(",")
        case "linker":  # in its place among the files, of which it may say how they are linked
            options.inputs.append(f"-Wl,{value}")
        case "preprocess":
            options.preprocess += [_SHORT.get(name, name), value]
        case _:
            options.link.append(_SHORT.get(name, name) + value)


def _input(options: Options, argument: str) -> None:
    suffix = Path(argument).suffix
    if suffix not in _SOURCES | _OBJECTS and not options.language:
        raise UsageError(f"Don't know what to do with '{argument}'")
    options.inputs.append(argument)


def language(options: Options, source: str) -> str:
    """ "cu", "c", "c++", or "" for what is linked as it is."""
    suffix = Path(source).suffix
    if suffix in _OBJECTS or source.startswith("-Wl,"):
        return ""
    return options.language or {".cu": "cu", ".c": "c"}.get(suffix, "c++")
