"""Defines why a program could not be observed, and what a person can do about it."""

from typing import Literal

ObserveErrorKind = Literal[
    "no_cupti",  # the host has no CUPTI, or none that this needs
    "no_compiler",  # the host has no C compiler
    "no_library",  # the library is not compiled, or cannot be loaded
    "no_folder",  # the folder to run the program in does not exist
    "failed",  # the program ended with an error
    "endless",  # the program reached its time limit
    "no_cuda",  # no process of the program started CUDA, or none could be observed
    "no_kernel",  # the kernel was never launched
    "several",  # several kernels have that name
    "too_large",  # the records are larger than one message
    "no_source",  # no file of the project defines the kernel once, so nothing can log its launches there
    "not_logged",  # nobody gave lines with which the program logs its launches
    "not_approved",  # a person has not approved them
]
NO_INJECTION: tuple[ObserveErrorKind, ...] = ("no_cupti", "no_compiler", "no_library", "no_cuda")
"""Where the library cannot be had, or leaves no record of a program that has run."""

REMEDIES: dict[ObserveErrorKind, str] = {
    "no_cupti": "install the CUDA toolkit with CUPTI (12.0 or later), or give its folder as cuda_home",
    "no_compiler": "install gcc or clang on the host",
    "no_library": "see the compiler's message; the host's CUDA toolkit may be incomplete",
    "no_folder": "give the folder that the program runs in",
    "failed": "run the command there by hand; it has to end with 0",
    "endless": "give a smaller job, or a longer limit; a program that serves without end can be observed for its limit",
    "no_cuda": "is it a CUDA program, started with this environment? sudo and containers drop CUDA_INJECTION64_PATH",
    "no_kernel": "name one of the kernels that were launched, or run a job that launches it",
    "several": "name one of them in full",
    "too_large": "record fewer launches of each kernel",
    "no_source": "name the file that defines it in `files`, or the kernel in full",
    "not_logged": "ask somebody else with --writer, or write the table by hand: docs/production.md",
    "not_approved": "nothing was changed; a table from elsewhere is taken by kpd task new --observed",
}


class ObserveError(Exception):
    """An error of an observation (`kind`, `message`), and what a person can do about it (`remedy`)."""

    def __init__(self, kind: ObserveErrorKind, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.kind: ObserveErrorKind = kind
        self.message = message
        self.remedy = remedy or REMEDIES[kind]

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"
