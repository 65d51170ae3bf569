"""The oldest Python that the far end may have."""

import functools
import shutil
import subprocess
from pathlib import Path

from kpd.hosts.local import Local


def python_that(tmp_path: Path, script: str) -> Local:
    """A transport whose python3 is a shell script; "$@" are the arguments that the real one would get."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Local(str(path))


@functools.cache
def oldest_python() -> str | None:
    """The oldest python3 that starts here, from 3.6 on; pyenv's are not on the PATH by themselves."""
    for minor in range(6, 11):
        found = [shutil.which(f"python3.{minor}"), *Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3")]
        for python in filter(None, found):
            if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
                return str(python)
    return None
