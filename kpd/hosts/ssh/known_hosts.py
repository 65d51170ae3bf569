"""Reads OpenSSH's known_hosts files, and adds keys to them. The format is sshd(8)'s."""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PORT = 22
Marker = Literal["", "cert-authority", "revoked"]


@dataclass(frozen=True, slots=True)
class KnownHostsLine:
    """One line: `names` as it is there, hashed or a list of patterns, and the public key as "type base64"."""

    path: Path
    line: int
    marker: Marker
    names: str
    key: str


class KnownHosts:
    """All lines of some files, in order."""

    def __init__(self, entries: Iterable[KnownHostsLine]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> "KnownHosts":
        """Read the files. A missing file counts as empty, and a line that cannot be parsed is ignored, as ssh does."""
        return cls(entry for path in paths for entry in _entries(path))

    def keys(self, names: Sequence[str]) -> list[KnownHostsLine]:
        """Return the host's keys, under the first of its names that has any."""
        for name in names:
            if found := self._of("", [name]):
                return found
        return []

    def authorities(self, names: Sequence[str]) -> set[str]:
        """Return the keys that may sign the host's certificate."""
        return {entry.key for entry in self._of("cert-authority", names)}

    def revoked(self, names: Sequence[str]) -> set[str]:
        """Return the keys that must never be accepted, neither as the host's nor as a signer's."""
        return {entry.key for entry in self._of("revoked", names)}

    def _of(self, marker: Marker, names: Sequence[str]) -> list[KnownHostsLine]:
        marked = [entry for entry in self._entries if entry.marker == marker]
        return [entry for entry in marked if any(matches(entry.names, name) for name in names)]


def names_of(host: str, port: int, alias: str = "") -> tuple[str, ...]:
    """Return the names of a host in known_hosts, first its own, which a new line gets.

    An alias (HostKeyAlias) has no port.

    A host with another port than 22 is also looked for under its bare name, as ssh does. There a key can be known, but
    none can have changed: what answers at another port may be another machine, or a container.
    """
    if alias:
        return (alias.lower(),)
    host = host.lower()
    return (host,) if port == PORT else (f"[{host}]:{port}", host)


def fingerprint(key: str) -> str:
    """Return the SHA256 of a key, given as "type base64", as `ssh-keygen -l` shows it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def matches(names: str, name: str) -> bool:
    """Return whether a line's first field matches the host `name` (in lower case)."""
    if names.startswith("|"):
        return _hashed(names, name)
    found = False
    for pattern in names.lower().split(","):
        if _like(pattern.removeprefix("!"), name):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def add(path: Path, name: str, key: str) -> None:
    """Append a line. A new file, and a new folder, is readable by its user alone. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        unfinished = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * unfinished + f"{name} {key}\n".encode())


def _entries(path: Path) -> Iterable[KnownHostsLine]:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        marker: Marker = ""
        if words and words[0].startswith("@"):
            if words[0] not in ("@cert-authority", "@revoked"):
                continue
            marker = "cert-authority" if words[0] == "@cert-authority" else "revoked"
            words = words[1:]
        if len(words) >= 3 and not words[0].startswith("#") and _is_key(words[1], words[2]):
            yield KnownHostsLine(path, number, marker, words[0], f"{words[1]} {words[2]}")


def _is_key(kind: str, data: str) -> bool:
    """Return whether the data is base64 of a key of this type, which begins with the type's name."""
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:  # no base64, or not even ASCII
        return False
    name = kind.encode()
    return raw.startswith(len(name).to_bytes(4, "big") + name)


def _hashed(names: str, name: str) -> bool:
    try:
        _, magic, salt, digest = names.split("|")
        expected = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return magic == "1" and hmac.compare_digest(expected, base64.b64decode(digest))
    except ValueError:
        return False


def _like(pattern: str, name: str) -> bool:
    wild = {"*": ".*", "?": "."}
    return re.fullmatch("".join(wild.get(c, re.escape(c)) for c in pattern), name, re.DOTALL) is not None
