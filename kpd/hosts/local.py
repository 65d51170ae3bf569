"""The transport to this machine: starts the helper as a child process."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpd.hosts.bundle import BOOTSTRAP, BOOTSTRAP_HERE, HELPER
from kpd.hosts.child import ChildChannel
from kpd.hosts.errors import HostError, HostKey


@dataclass(frozen=True, slots=True)
class Local:
    """A helper as a child process of kpd, under kpd's own Python or under `python`.

    `programs` is a folder that its PATH begins with. `enter` starts the helper in a container, where `python` is.
    """

    kind: ClassVar[str] = "local"
    python: str = sys.executable
    programs: Path | None = None
    enter: tuple[str, ...] = ()

    async def open(self) -> ChildChannel:
        """Start the helper. Raises HostError (no_python)."""
        # Not kpd's own environment: a job may read that of its supervisor, which is a fork of the helper.
        path = os.environ.get("PATH", os.defpath)
        if self.programs is not None:
            path = f"{self.programs}{os.pathsep}{path}"
        env = {"PATH": path, "HOME": str(Path.home()), "LANG": "C.UTF-8"}
        try:
            own = self.python == sys.executable and not self.enter
            program = (BOOTSTRAP_HERE, str(HELPER)) if own else (BOOTSTRAP,)
            return await ChildChannel.start(*self.enter, self.python, "-I", "-S", "-c", *program, env=env)
        except OSError as err:
            raise HostError("no_python", f"cannot start {(*self.enter, self.python)[0]}: {err}") from err

    async def trust(self, key: HostKey) -> None:
        """Raise HostError (host_key): a child has no key."""
        raise HostError("host_key", f"{key.host}: this machine shows no key", "there is nothing to trust")

    async def close(self) -> None:
        """Do nothing: nothing is kept between channels."""
