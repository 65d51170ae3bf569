"""Says how an extra of kpd is installed, in the environment that kpd runs in."""

import shlex
import sys
from pathlib import Path

import kpd
from kpd.workspace.paths import is_source


def install(extra: str) -> str:
    """Return the command that installs an extra: from the checkout where kpd runs from one, else from its index."""
    source = Path(kpd.__file__).resolve().parent.parent
    what = ["-e", f"{source}[{extra}]"] if is_source(source) else [f"kpd[{extra}]"]
    return shlex.join([sys.executable, "-m", "pip", "install", *what])
