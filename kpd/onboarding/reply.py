"""Extracts the harness section from a model's reply: one fenced block, with only what a harness needs."""

import re

from kpd.agents.agent import BadReply
from kpd.agents.fences import split_fences
from kpd.source.text import plain_code
from kpd.source.tokens import Token, tokenize
from kpd.workspace import sections

LONGEST = 256 * 1024
MOST_LINES = 2000
HEADERS = frozenset((
    "kpd_task.h", "float.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h",
    "cuda_bf16.h", "cuda_fp16.h", "cuda_runtime.h", "cuda_runtime_api.h",
))  # fmt: skip
_DIRECTIVES = frozenset(("define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif"))
_INCLUDE = re.compile(r'include\s*[<"]([^<>"]+)[>"]\s*')
_MARK = re.compile(r"\s*//\s*={3,}\s*(END\s+)?HARNESS\s+SECTION\b.*")
# The harness runs with kpd's rights, on this machine and on hosts: it may compute, but not use the system.
_REFUSED = {
    **dict.fromkeys(
        ("asm", "__asm__", "__asm", "extern", "_Pragma", "__has_include", "__attribute__"), "a harness needs none"
    ),
    **dict.fromkeys(
        ("system", "popen", "fork", "vfork", "clone", "execve", "execv", "execvp", "execl", "execlp", "posix_spawn",
         "syscall", "dlopen", "dlsym", "mprotect", "ptrace", "getenv", "setenv", "putenv", "secure_getenv"),
        "a harness starts no program and asks nothing of its process",
    ),
    **dict.fromkeys(
        ("open", "openat", "creat", "fopen", "freopen", "fdopen", "opendir", "unlink", "remove", "rename", "mkdir",
         "rmdir", "socket", "connect", "mkstemp", "tmpfile", "mkfifo", "chmod", "chown", "symlink", "link"),
        "a harness reads and writes no file",
    ),
    **dict.fromkeys(
        ("signal", "sigaction", "kill", "raise", "_exit", "_Exit", "quick_exit", "atexit", "pthread_create"),
        "a harness neither ends nor hooks a process",
    ),
    **dict.fromkeys(("__global__", "__device__"), "kernels and their helpers stand in the kernel section"),
}  # fmt: skip


class UnusableHarness(Exception):
    """A reply or a harness that cannot be used; the text tells the model why."""


def harness_section(text: str) -> str:
    """Extract the section from the reply, without its marks, with newlines as line ends. Raises UnusableHarness."""
    if len(text) > 2 * LONGEST:
        raise UnusableHarness(f"the reply has {len(text)} characters, and a harness has at most {LONGEST}")
    try:
        taken = split_fences(text.replace("\r\n", "\n"))
    except BadReply as err:
        raise UnusableHarness(str(err)) from err
    blocks = [block.content for block in taken.blocks if block.content.strip()]
    if len(blocks) != 1:
        raise UnusableHarness(f"the reply has {len(blocks)} fenced blocks; give the harness section in exactly one")
    section = _without_marks(plain_code("harness.cu", blocks[0]))
    _refuse_size(section)
    if sections.marked(section.encode(errors="replace")):
        raise UnusableHarness("the block has a section's mark in it; give the text of the harness section alone")
    _refuse_words(section)
    return section


def _without_marks(section: str) -> str:
    lines = section.strip("\n").split("\n")
    if lines and _MARK.fullmatch(lines[0]):
        lines = lines[1:]
    if lines and _MARK.fullmatch(lines[-1]):
        lines = lines[:-1]
    return "\n".join(lines) + "\n"


def _refuse_size(section: str) -> None:
    if len(section) > LONGEST or section.count("\n") > MOST_LINES:
        raise UnusableHarness(f"the harness is longer than {LONGEST} characters or {MOST_LINES} lines")
    for number, line in enumerate(section.split("\n"), 1):
        odd = next((char for char in line if not (char.isprintable() or char == "\t")), None)
        if odd is not None:
            raise UnusableHarness(f"line {number} has the character U+{ord(odd):04X} in it; use plain text")


def _refuse_words(section: str) -> None:
    if re.search(r"\?\?[=/]|%:|\w\\\n\w", section):
        raise UnusableHarness("the harness spells marks or words in an old or hidden way; write them plainly")
    for token in tokenize(section):
        if token.kind == "directive":
            _refuse_directive(token)
        elif token.text in _REFUSED and token.kind == "word":
            raise UnusableHarness(f"line {token.line} has {token.text} in it: {_REFUSED[token.text]}")


def _refuse_directive(token: Token) -> None:
    text = token.text[1:].strip()
    word = re.match(r"\w*", text)
    name = word[0] if word else ""
    include = _INCLUDE.fullmatch(re.sub(r"//.*|/\*.*?\*/", "", text).strip() + " ")
    if name == "include" and include is not None and include[1] in HEADERS:
        return
    if name == "include":
        known = ", ".join(sorted(HEADERS))
        raise UnusableHarness(f"line {token.line} includes what a harness has no need of; it may include {known}")
    if re.fullmatch(r"pragma\s+unroll(\s*\(?\s*\d*\s*\)?)?", text):
        return
    if name not in _DIRECTIVES:
        raise UnusableHarness(f"line {token.line} has a directive that a harness has no need of: #{name}")
    for part in tokenize(text, directives=False):
        if part.text == "##" or (part.kind == "word" and part.text in _REFUSED):
            raise UnusableHarness(f"line {token.line} has {part.text} in a directive; a harness needs none of it")
