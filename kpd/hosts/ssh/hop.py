"""Describes one hop from ssh's configuration, and judges the host key that it presents."""

import getpass
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from kpd.hosts.errors import HostError, HostErrorKind, HostKey, UnknownHostKey
from kpd.hosts.ssh import known_hosts
from kpd.hosts.ssh.known_hosts import KnownHosts
from kpd.text.numbers import counted
from kpd.workspace.address import Address

# A key's type, and the names of its signatures.
KEY_TYPES = {
    "ssh-ed25519": ("ssh-ed25519",),
    "ecdsa-sha2-nistp256": ("ecdsa-sha2-nistp256",),
    "ecdsa-sha2-nistp384": ("ecdsa-sha2-nistp384",),
    "ecdsa-sha2-nistp521": ("ecdsa-sha2-nistp521",),
    "ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256"),
}
OLD = ("ssh-rsa", "ssh-dss")  # for old hosts, only where the configuration names them
FAST = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr"
COMPRESSED = "zlib@openssh.com,zlib,none"
IDENTITIES = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
SSH = Path("~/.ssh")
SYSTEM = Path("/etc/ssh")

# What asyncssh must not do by itself, even if the configuration says so. It raises an error for a missing file, checks
# no host key with "UserKnownHostsFile none", and trusts X.509 authorities that ssh does not know. So kpd itself handles
# host keys and identities.
NOT_BY_ITSELF: dict[str, Any] = {
    "known_hosts": ([], [], []),
    "client_keys": None,
    "client_certs": [],
    "client_host_keysign": None,
    "x509_trusted_certs": None,
    "x509_trusted_cert_paths": [],
    "gss_host": None,
    "agent_forwarding": False,
}


class SshOptions(Protocol):
    """What ssh's configuration says for one host: the value of an option, in asyncssh's form."""

    def get(self, option: str, default: object = None) -> object: ...


class OnlyOpenSsh(HostError):
    """A login that kpd's own client cannot do, but the OpenSSH client perhaps can."""

    def __init__(self, kind: HostErrorKind, message: str) -> None:
        super().__init__(kind, message, 'let ssh itself log in: transport = "controlmaster"')


@dataclass(frozen=True, slots=True)
class Hop:
    """One host on the way.

    `name` is for messages, `given` the name that was asked for, `host` and `port` the real ones. `jumps` are the hosts
    before it. `agent` is the path of the agent's socket, empty without one.
    """

    name: str
    given: str
    user: str
    host: str
    port: int
    alias: str
    jumps: tuple[Address, ...]
    known: KnownHosts
    learns: Path | None  # the file that a new host key goes into
    agent: str
    identities: tuple[Path, ...]
    only_these: bool  # even if the agent has more
    certificates: tuple[Path, ...]

    @classmethod
    def of(cls, name: str, given: str, host: str, port: int, user: str, config: SshOptions) -> "Hop":
        """Build a hop of its configuration, with the known_hosts files read.

        Raises ValueError for a text that can be no host's name or address.
        """
        host.encode("idna")
        alias = str(config.get("HostKeyAlias") or "")
        tokens = {
            "%": "%", "h": host, "n": given, "p": str(port), "r": user, "k": alias or given, "u": getpass.getuser(),
            "d": str(Path.home()), "i": str(os.getuid()),
        }  # fmt: skip
        user_files = _paths(config, "UserKnownHostsFile", [SSH / "known_hosts", SSH / "known_hosts2"], tokens)
        system = [SYSTEM / "ssh_known_hosts", SYSTEM / "ssh_known_hosts2"]
        named = config.get("IdentityFile")
        jumps = _expand(str(config.get("ProxyJump") or ""), tokens).replace(",", " ").split()
        return cls(
            name=name,
            given=given,
            user=user,
            host=host,
            port=port,
            alias=alias,
            jumps=tuple(map(Address.parse, jumps)),
            known=KnownHosts.read([*user_files, *_paths(config, "GlobalKnownHostsFile", system, tokens)]),
            learns=user_files[0] if user_files and user_files[0] != Path(os.devnull) else None,
            agent=_agent(config),
            identities=_paths(config, "IdentityFile", [SSH / name for name in IDENTITIES], {}),
            only_these=config.get("IdentitiesOnly") is True and named is not None,
            certificates=_paths(config, "CertificateFile", [], {}),
        )

    def judge(self, host: str, port: int, key: str, fingerprint: str) -> HostError | None:
        """Return what is wrong with `key`, as "type base64", which the host has presented; None if it is a known key.

        If a name is known with another key, of any type, the key has changed: the new one may be somebody else's. That
        applies only to the host's own name, the first one.
        """
        names = known_hosts.names_of(host, port, self.alias)
        kind = key.split()[0]
        if any(entry.key == key for entry in self.known.keys(names)):
            return None
        known = self.known.keys(names[:1])
        if not known:
            offered = HostKey(names[0], key, fingerprint)
            return UnknownHostKey(
                f"{self.name}: nobody has confirmed yet that {kind} {fingerprint} is its key", offered
            )
        told = ", ".join(
            f"{entry.path} line {entry.line}: {entry.key.split()[0]} {known_hosts.fingerprint(entry.key)}"
            for entry in known
        )
        message = (
            f"{self.name}: THE HOST'S KEY HAS CHANGED. It shows {kind} {fingerprint}, but another is known ({told}). "
            "Somebody may be intercepting the connection, or the host was reinstalled"
        )
        heal = " && ".join(_forget(names[0], path) for path in dict.fromkeys(entry.path for entry in known))
        return HostError("host_key", message, f"if you know that the new key is right: {heal}")

    def revoked(self) -> set[str]:
        return self.known.revoked(known_hosts.names_of(self.host, self.port, self.alias))

    def algorithms(self, config: SshOptions, compression: bool) -> dict[str, Any]:
        """Return asyncssh's algorithms: known keys and fast ciphers first, unless the configuration says otherwise."""
        found: dict[str, Any] = {}
        if keys := _wanted(str(config.get("HostKeyAlgorithms") or "+"), self.key_algorithms()):
            found["server_host_key_algs"] = keys
        if config.get("Ciphers") is None:
            found["encryption_algs"] = FAST
        if compression:
            found["compression_algs"] = COMPRESSED
        elif config.get("Compression") is None:
            found["compression_algs"] = None
        return found

    def key_algorithms(self) -> list[str]:
        """Return the key types to ask the host for: known keys first, certificates only where one can be checked.

        Otherwise the host may present another key, or a certificate that is no use to us, though we know one of its
        keys.
        """
        names = known_hosts.names_of(self.host, self.port, self.alias)
        types = {entry.key.split()[0] for entry in self.known.keys(names)}
        known = [sig for kind, sigs in KEY_TYPES.items() if kind in types for sig in sigs]
        every = [sig for sigs in KEY_TYPES.values() for sig in sigs]
        signed = [f"{sig}-cert-v01@openssh.com" for sig in every] if self.known.authorities(names) else []
        return list(dict.fromkeys([*known, *signed, *every]))

    def not_let_in(self, methods: Iterable[str], tried: int, locked: Sequence[Path]) -> HostError:
        """Make the error of a refused login.

        `methods` are those that the host accepts, `tried` is the number of keys tried, `locked` are the identities that
        need a passphrase.
        """
        takes = ", ".join(methods)
        words = (
            f"{self.name}: {self.user} is not let in at {self.host} port {self.port}: "
            f"it accepts {takes or 'nothing that kpd has'}, and kpd tried {counted(tried, 'key')}"
        )
        remedy = ""
        if locked:
            paths = " ".join(str(path) for path in locked)
            words += f"; {paths} needs a passphrase"
            remedy = f"put it into the agent: ssh-add {paths}"
        elif takes and "publickey" not in takes:
            return OnlyOpenSsh("auth", words)
        return HostError("auth", words, remedy)


def usual_config_files() -> list[Path]:
    """List the user's and the system's ssh_config, as far as they exist and can be read."""
    files = [(SSH / "config").expanduser(), SYSTEM / "ssh_config"]
    return [path for path in files if os.access(path, os.R_OK)]


def _wanted(wish: str, ours: Sequence[str]) -> list[str]:
    """Return the list `ours` as the configuration changes it.

    `wish` is a list of patterns, which may add to ours (+), remove from it (-) or put names first (^).
    """
    sign, patterns = (wish[0], wish[1:].split(",")) if wish[0] in "+-^" else ("", wish.split(","))
    meant = [name for name in (*ours, *OLD) if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if sign == "-":
        return [name for name in ours if name not in meant]
    return list(dict.fromkeys({"": meant, "+": [*ours, *meant], "^": [*meant, *ours]}[sign]))


def _paths(config: SshOptions, option: str, default: Sequence[Path], tokens: dict[str, str]) -> tuple[Path, ...]:
    words = config.get(option)
    found = [Path(_expand(str(word), tokens)) for word in words] if isinstance(words, list) else default
    return tuple(path.expanduser() for path in found)


def _expand(text: str, tokens: dict[str, str]) -> str:
    return re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), text)


def _agent(config: SshOptions) -> str:
    path = config.get("IdentityAgent", "SSH_AUTH_SOCK")  # None: it says none
    if path == "SSH_AUTH_SOCK" or str(path).startswith("$"):
        return os.environ.get(str(path).strip("${}"), "")
    return str(Path(str(path)).expanduser()) if path else ""


def _forget(name: str, path: Path) -> str:
    usual = path == (SSH / "known_hosts").expanduser()
    return shlex.join(["ssh-keygen", "-R", name, *([] if usual else ["-f", str(path)])])
