"""The stand-in's nvcc: preprocess, rewrite, compile with g++, link."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import compiled
from .messages import as_nvcc
from .options import Options, UsageError, language, read
from .rewrite import RewriteError, rewrite

_INCLUDE = Path(__file__).resolve().parent / "include"
_REGISTERING = _INCLUDE.with_name("registering.c")
_MACROS = ["-DKPD_STANDIN=1", "-D__CUDACC__=1", "-D__NVCC__=1", "-D__CUDACC_VER_MAJOR__=0", "-D__CUDACC_VER_MINOR__=0"]
# `__shared__` becomes static storage: every object has its own, and a block is one flow of control at a time.
# The runtime is inline, so that g++ sees paths through it on which a failed call leaves a variable as it was.
_CODE = [
    "-fno-gnu-unique", "-fno-threadsafe-statics", "-fno-strict-aliasing",
    "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized",
]  # fmt: skip
VERSION = """\
nvcc: NVIDIA (R) Cuda compiler driver: NOT. This is kpd's CPU stand-in for tests; it makes no device code.
Cuda compilation tools, release 0.0, V0.0.0
Build kpd_cpu_standin
"""


class Failed(Exception):
    """A step ended badly; its message is on standard error already. `code` is the exit status."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; the exit status, 1 or 2 after an error, as nvcc's."""
    if "--version" in arguments or "-V" in arguments:
        sys.stdout.write(VERSION)
        return 0
    try:
        options = read(arguments)
        with tempfile.TemporaryDirectory(prefix="kpd-standin-") as scratch:
            _make(options, Path(scratch))
    except UsageError as wrong:
        sys.stderr.write(f"nvcc fatal   : {wrong}\n")
        return 1
    except Failed as failed:
        return failed.code
    return 0


def _make(options: Options, scratch: Path) -> None:
    objects: list[str] = []
    for number, source in enumerate(options.inputs):
        kind = language(options, source)
        out = str(scratch / f"{number}.o")
        if options.compile_only:
            out = options.out or f"{Path(source).stem}.o"
        if kind == "cu":
            _compile_cuda(options, source, out, scratch / f"{number}.ii")
        elif kind:
            _compile_host(options, source, out, kind)
        objects.append(out if kind else source)
    if options.compile_only:
        return
    if options.library:
        Path(options.out).unlink(missing_ok=True)
        _run(["ar", "rcs", options.out, *objects])
        return
    registering = str(scratch / "registering.o")
    _compile_host(options, str(_REGISTERING), registering, "c")
    objects.append(registering)
    libraries = ["-lm", "-ldl", "-lpthread"]
    how = ["-shared", "-Wl,-Bsymbolic"] if options.shared else ["-Wl,--export-dynamic-symbol=kpd_standin_process"]
    _run(["g++", *options.host, *how, *objects, *options.link, *libraries, "-o", options.out or "a.out"])


def _common(options: Options) -> list[str]:
    level = [f"-O{options.level}"] if options.level else []
    return [*level, *(["-g"] if options.debug else []), *(["-w"] if options.quiet else []), *options.host]


def _compile_cuda(options: Options, source: str, out: str, rewritten: Path) -> None:
    standard = f"-std={options.standard}"
    shared = ["-DKPD_STANDIN_SHARED_RUNTIME=1"] if options.cudart == "shared" else []
    system = ["-isystem", str(_INCLUDE), "-include", "cuda_runtime.h"]
    front = ["g++", "-E", "-x", "c++", standard, *_MACROS, *shared, *options.preprocess, *system, source]
    preprocessed = _run([*front, *_common(options)], source)
    try:
        text = rewrite(preprocessed)
    except RewriteError as wrong:
        sys.stderr.write(f"{source}: error: {wrong}\n")
        raise Failed(2) from None
    rewritten.write_text(text)
    back = ["g++", "-x", "c++-cpp-output", standard, *_CODE, *_common(options), "-c"]
    name = compiled.key([*back, source], text)
    _object(options, name, [*back, str(rewritten), "-o", out], source, code=2)


def _compile_host(options: Options, source: str, out: str, kind: str) -> None:
    compiler = ["gcc", "-x", "c"] if kind == "c" else ["g++", "-x", "c++", f"-std={options.standard}"]
    command = [*compiler, *_common(options), *options.preprocess, "-DKPD_STANDIN=1", "-isystem", str(_INCLUDE)]
    front = _call([*command, "-E", source])
    name = "" if front.returncode else compiled.key([*compiler, *_common(options), source], front.stdout)
    _object(options, name, [*command, "-c", source, "-o", out])


def _object(options: Options, name: str, command: Sequence[str], cuda: str = "", code: int = 1) -> None:
    """Compile to the command's last word, unless an object of this name was kept.

    Debug information holds the folder of the compilation, so what has it is compiled each time.
    """
    kept = bool(name) and not options.debug
    said = compiled.take(name, command[-1]) if kept else None
    if said is not None:
        _say(said, cuda)
        return
    done = _call(command)
    _say(done.stderr, cuda)
    if done.returncode:
        raise Failed(code)
    if kept:
        compiled.keep(name, command[-1], done.stderr)


def _run(command: Sequence[str], cuda: str = "") -> str:
    """Standard output of a compiler, which must succeed."""
    done = _call(command)
    _say(done.stderr, cuda)
    if done.returncode:
        raise Failed(1)
    return done.stdout


def _call(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, env=env, encoding="utf-8", errors="replace", check=False)


def _say(messages: str, cuda: str) -> None:
    """Pass a compiler's messages on, as nvcc's where they are about CUDA source."""
    sys.stderr.write(as_nvcc(messages, cuda) if cuda else messages)
