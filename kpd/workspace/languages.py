"""Defines the languages of tasks: how their files are shown, named, built and measured.

A language is an entry point of the group `kpd.languages`. It refers to its compiler and to what it is measured with as
`module:name`, so that code that only shows its files imports neither.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from kpd.workspace.entry_points import EntryPointGroup, PlugInError
from kpd.workspace.shipped import PYTHON_TEMPLATE, TASK_TEMPLATE


@dataclass(frozen=True, slots=True)
class Syntax:
    """How files with these `suffixes` are named in a prompt, and shown to people.

    `name` labels a code fence in a prompt; fences of a reply may be labelled with it, a suffix, or a word of `also`.
    `lexer` is a lexer of Pygments as `module:class`, empty for plain text; `types` are names of types that the lexer
    does not know.
    """

    suffixes: tuple[str, ...]
    name: str = ""
    also: tuple[str, ...] = ()
    lexer: str = ""
    types: frozenset[str] = frozenset()

    def fits(self, word: str) -> bool:
        """Return whether a code fence labelled `word` may hold a file of this language."""
        return word in (self.name, *self.also) or f".{word}" in self.suffixes


@dataclass(frozen=True, slots=True)
class Language:
    """A language of tasks. `bench` is the `module:name` of a function that prepares a task on a host.

    `kpd.measure.c.bench:prepare` is an example. `device` is the kind of device that candidates are measured on. With
    `commands` a task brings its own benchmark as a command, and may ask for the other kind of device; where there is a
    `runner`, written like `bench`, a task without a command is measured with that. `files` are those that a task must
    have that brings no command: the kernel, then the harness, which no agent may edit; with `sectioned`, one file with
    that suffix may hold both in sections. `flags` is the AllowList of the compiler flags that a candidate may set, as
    `module:name`. `template` is a folder with the files of a small task; `@NAME@` in them stands for the task's name.
    """

    syntax: Syntax
    bench: str
    device: Literal["cpu", "gpu"] = "cpu"
    commands: bool = False
    runner: str = ""
    files: tuple[str, ...] = ()
    sectioned: str = ""
    flags: str = ""
    template: Path | None = None


_C_FENCES = ("c", "h", "cc", "cpp", "c++", "cxx", "hpp", "cu", "cuh", "cuda", "hip", "opencl", "cl")
_C_TYPES = frozenset({
    "restrict", "__restrict", "__restrict__", "__attribute__", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
    "int8_t", "int16_t", "int32_t", "int64_t", "__m128", "__m256", "__m512",
})  # fmt: skip
_CUDA_TYPES = _C_TYPES | {
    "__global__", "__device__", "__host__", "__shared__", "__constant__", "__launch_bounds__", "__forceinline__",
    "float2", "float3", "float4", "int2", "int4", "uint2", "uint4", "double2", "dim3", "half", "half2", "__half",
    "__half2", "__nv_bfloat16", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
}  # fmt: skip
_C_LEXER, _CPP_LEXER = "pygments.lexers.c_cpp:CLexer", "pygments.lexers.c_cpp:CppLexer"
_CPP = Syntax((".cpp", ".cc", ".cxx", ".hpp"), "cpp", _C_FENCES, _CPP_LEXER, _C_TYPES)
_PYTHON = Syntax((".py",), "python", ("python3", "triton"), "pygments.lexers.python:PythonLexer")

C = Language(
    Syntax((".c", ".h"), "c", _C_FENCES, _C_LEXER, _C_TYPES),
    "kpd.measure.c.bench:prepare",
    files=("kernel.c", "harness.c"),
    flags="kpd.measure.c.toolchain:ALLOWED",
    template=TASK_TEMPLATE,
)
CPP = replace(C, syntax=_CPP, files=("kernel.cpp", "harness.c"), template=None)
CUDA = Language(
    Syntax((".cu", ".cuh"), "cuda", _C_FENCES, _CPP_LEXER, _CUDA_TYPES),
    "kpd.measure.cuda.bench:prepare",
    "gpu",
    files=("kernel.cu", "harness.cu"),
    sectioned=".cu",
    flags="kpd.measure.cuda.nvcc:ALLOWED",
)
COMMAND = Language(_PYTHON, "kpd.measure.command.bench:prepare", commands=True)
PYTHON = replace(
    COMMAND,
    runner="kpd.measure.python.bench:prepare",
    files=("kernel.py", "harness.py"),
    template=PYTHON_TEMPLATE,
)
TRITON = replace(PYTHON, device="gpu", template=None)

_OTHERS = (
    _CPP,
    Syntax((".cl", ".hip"), "", _C_FENCES),
    Syntax((".json",), "json", ("jsonc",), "pygments.lexers.data:JsonLexer"),
    Syntax((".toml",), "toml", (), "pygments.lexers.configs:TOMLLexer"),
    Syntax((".md",), "markdown"),
    Syntax((".rs",), "rust"),
)
"""Files that a task may have besides, whatever it is written in."""


def _checked(found: object) -> Language:
    if not isinstance(found, Language):
        raise ValueError(f"it is {type(found).__name__} instead of a kpd.workspace.languages.Language")
    if not all(suffix.startswith(".") for suffix in found.syntax.suffixes):
        raise ValueError("a suffix begins with a dot")
    if not all(
        ":" in each for each in (found.bench, found.runner or ":", found.flags or ":", found.syntax.lexer or ":")
    ):
        raise ValueError("bench, runner, flags and lexer are written module:name")
    return found


LANGUAGES = EntryPointGroup("kpd.languages", _checked)


def syntax_of(path: str) -> Syntax:
    """Return the syntax of a file by its suffix, or plain text; kpd's own languages go before those of plug-ins."""
    return _of_suffix(f".{path.rpartition('.')[2].lower()}" if "." in path else "")


@cache
def _of_suffix(suffix: str) -> Syntax:
    for known in (*(each.syntax for each in (C, CUDA, PYTHON)), *_OTHERS):
        if suffix in known.suffixes:
            return known
    for _, found in LANGUAGES.plug_ins() if suffix else ():
        if not isinstance(found, PlugInError) and suffix in found.syntax.suffixes:
            return found.syntax
    return Syntax((suffix,))
