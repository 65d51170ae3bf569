"""The transport to a recording: the helper on this machine, with a tape's programs before all others."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpd.hosts.child import ChildChannel
from kpd.hosts.errors import HostError, HostKey
from kpd.hosts.local import Local
from kpd.hosts.recorded.recording import BadRecording, identity, load
from kpd.hosts.recorded.tape import Settings, lay


@dataclass(frozen=True, slots=True)
class Recorded:
    """Plays the recording in `folder`; `tapes` is a folder of kpd's own for the programs that do."""

    kind: ClassVar[str] = "recorded"
    name: str
    folder: Path
    tapes: Path

    async def open(self) -> ChildChannel:
        """Raises HostError (config, no_python)."""
        programs = await asyncio.to_thread(self._lay)
        return await Local(programs=programs).open()

    def _lay(self) -> Path:
        try:
            found = load(self.folder)
            # Another recording is another toolkit: what was built with this one's must not be taken for that one's.
            return lay(self.tapes / identity(self.folder), Settings(str(self.folder), found.device))
        except BadRecording as err:
            remedy = "correct `recording` in config.toml, or record it again with benchmarks/record_gpu.py"
            raise HostError("config", f"{self.name}: {err}", remedy) from err
        except OSError as err:
            raise HostError("no_space", f"{self.name}: {err}", "check the disk that the workspace is on") from err

    async def trust(self, key: HostKey) -> None:
        """Raises HostError (host_key): a recording has no key."""
        raise HostError("host_key", f"{self.name}: a recording shows no key", "there is nothing to trust")

    async def close(self) -> None:
        """Nothing is kept between channels."""
