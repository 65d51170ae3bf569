"""Says why the first run of a folder's benchmark failed, and what helps."""

import re
from collections.abc import Collection

from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.probe import Ran
from kpd.measure.command.correctness import claims
from kpd.measure.command.result import complaint, last_object

_MODULE = re.compile(r"No module named '?([A-Za-z_]\w*)")


def failure(run: Ran, files: Collection[str], limit_s: float) -> ImportRefused:
    """Return the error of a run that failed: what it lacks, or the question whether its kernel is to be made first."""
    ended = (
        f"did not end within {limit_s:g} s"
        if run.rc is None
        else f"exited with {run.rc}"
        if run.rc > 0
        else f"was ended by signal {-run.rc}"
    )
    table = last_object(run.stdout) or {}
    said = complaint(table, tuple(claims(table))) or run.tail or "it gave no reason"
    what = f"`{run.command}` {ended}: {said}"
    if lacks := [name for name in _MODULE.findall(run.stderr) if not _own(name, files)]:
        return ImportRefused(what, f"python3 -m pip install {lacks[-1]}, or put another python3 first on the PATH")
    return at_fault(what)


def at_fault(what: str) -> Unclear:
    """Return the question whether the folder's own kernel is to blame for what is wrong."""
    return Unclear(OpenQuestion("--baseline", what, ("wrong",), "correct the folder; if its kernel alone is at fault"))


def _own(module: str, files: Collection[str]) -> bool:
    return any(path.split("/")[0] == module or path.rpartition("/")[2] == f"{module}.py" for path in files)
