"""Sends the program that changes and restores a project's files to its host, and asks it."""

import json
import shlex
from dataclasses import dataclass
from importlib.resources import files as resources
from typing import Any, Literal, TypeVar, cast, get_args

import msgspec

from kpd.hosts.errors import HostError, from_helper
from kpd.hosts.host import Host

T = TypeVar("T")
PACKAGES = ("kpd", "kpd/hosts", "kpd/hosts/helper", "kpd/production", "kpd/production/far")
MODULES = (
    "hosts/helper/children", "hosts/helper/files", "hosts/helper/processes", "production/far/disk",
    "production/far/elf", "production/far/history", "production/far/main", "production/far/plan",
    "production/far/record", "production/far/refusals", "production/far/restore", "production/far/switch",
    "production/far/timed",
)  # fmt: skip
START = b"from kpd.production.far.main import main\n\nmain()\n"
PLACES = "~/.local/state/kpd/places"
LIMIT_S = 600.0
"""For one request: originals may be large, and a build that is ended may take its time."""

PlaceErrorKind = Literal["taken", "ended", "changed", "corrupt"]
REMEDIES: dict[PlaceErrorKind, str] = {
    "taken": "wait until that has ended; `kpd project restore` ends it",
    "ended": "look with `kpd project status`, and begin again",
    "changed": "kpd overwrites no work of others: look with `kpd project status`",
    "corrupt": "put the file back from a copy of your own, then `kpd project restore`",
}


class PlaceError(Exception):
    """The error that a project's files cannot be changed as asked: `taken` by another kpd, `ended`, `changed`, or
    `corrupt`: a copy that the host keeps is not what was copied."""

    def __init__(self, kind: PlaceErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: PlaceErrorKind = kind
        self.message = message
        self.remedy = REMEDIES[kind]


def shell_path(path: str) -> str:
    """Quote a path for a shell; one that begins with ~/ is below the user's home."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)


def sources() -> dict[str, bytes]:
    """Return the program as a folder that Python can run, by path."""
    found = {f"{package}/__init__.py": b"" for package in PACKAGES}
    found |= {f"kpd/{module}.py": resources("kpd").joinpath(f"{module}.py").read_bytes() for module in MODULES}
    return found | {"__main__.py": START}


@dataclass(frozen=True, slots=True)
class PlaceProgram:
    """The program on a host, for the project with this root.

    `python` is the host's interpreter, `places` the folder there for the originals of all projects.
    """

    host: Host
    python: str
    root: str
    places: str

    async def words(self, op: str, **given: Any) -> str:
        """Return the command line of a request for the host's shell. Raises HostError."""
        tree = await self.host.stage(sources())
        asked = shlex.quote(json.dumps({"root": self.root, "places": self.places, **given}))
        return f"{shell_path(self.python)} -I -S -B {shlex.quote(f'{self.host.root}/trees/{tree}')} {op} {asked}"

    async def ask(self, op: str, kind: type[T], **given: Any) -> T:
        """Ask, and return the answer as a `kind`. Every request may be repeated. Raises HostError, PlaceError."""
        said = await self.host.run(await self.words(op, **given), LIMIT_S)
        return self.answer(kind, said.rc, said.stdout, said.stderr)

    def answer(self, kind: type[T], rc: int | None, stdout: bytes, stderr: bytes) -> T:
        """Read the answer to a request that has ended. Raises HostError, also where it is no `kind`, and PlaceError."""
        try:
            reply = json.loads(stdout)
            if "ok" in reply:
                return msgspec.convert(reply["ok"], kind)
            refused, message = str(reply["error"]["kind"]), str(reply["error"]["message"])
        except (ValueError, KeyError, TypeError, RecursionError) as err:
            words = stderr.decode(errors="replace").strip()[-500:] or (str(err) if rc == 0 else f"it ended with {rc}")
            raise HostError("host", f"{self.host.name}: the project's program does not answer: {words}") from err
        if refused in get_args(PlaceErrorKind):
            raise PlaceError(cast(PlaceErrorKind, refused), f"{self.host.name}: {message}")
        raise from_helper(self.host.name, refused, message)
