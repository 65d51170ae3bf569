"""Connects to one hop. The only module that imports asyncssh."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import asyncssh

from kpd.hosts.child import KEPT
from kpd.hosts.errors import CLOSED, HostError, HostErrorKind, HostKey, UnknownHostKey
from kpd.hosts.ssh import known_hosts
from kpd.hosts.ssh.hop import NOT_BY_ITSELF, Hop, OnlyOpenSsh, usual_config_files
from kpd.hosts.ssh.session import Session
from kpd.text.foreign import plain
from kpd.workspace.address import Address

LET_GO_S = 1.0  # seconds for a connection to close
WINDOW = 8 << 20  # bytes that the host may send before we have taken them

Connection = asyncssh.SSHClientConnection
Arguments = dict[str, Any]  # of asyncssh's connect

log = logging.getLogger(__name__)
asyncssh.set_log_level(logging.WARNING)  # at INFO it logs every channel and every key


class ChannelRefused(HostError):
    """The host has let us in, and starts no program: it has no room for one more, or lets nobody run one."""


def read(
    name: str, address: Address, config_files: Sequence[Path] | None, compression: bool, more: Arguments
) -> tuple[Hop, Arguments]:
    """Read ssh's configuration for a hop, and return the hop and asyncssh's arguments for connecting to it.

    It reads files and may run a program (Match exec), so call it in a thread. Raises HostError (config).
    """
    arguments = {
        **NOT_BY_ITSELF,
        **more,
        "config": usual_config_files() if config_files is None else list(config_files),
        "port": address.port or (),
        "username": address.user or (),
    }
    try:
        options = asyncssh.SSHClientConnectionOptions(host=address.host, **arguments)
        if options.config.has_match_final():
            options = asyncssh.SSHClientConnectionOptions(host=address.host, final=True, **arguments)
        hop = Hop.of(name, address.host, options.host, options.port, options.username, options.config)
    except (ValueError, OSError) as err:
        raise HostError("config", f"{name}: ssh's configuration: {err}") from err
    algorithms = hop.algorithms(options.config, compression)
    return hop, {**arguments, **algorithms, "known_hosts": ([], [], _importable(hop.revoked()))}


async def connect(hop: Hop, arguments: Arguments, via: Connection | None, accept_new: bool) -> Connection:
    """Connect to a hop, through `via`, a connection to the jump host before it, if that is given.

    Raises HostError (unreachable, auth, host_key, config).
    """
    visitor = _Visitor(hop, accept_new)
    try:
        return await asyncssh.connect(hop.given, tunnel=cast(Any, via), client_factory=lambda: visitor, **arguments)
    except (asyncssh.Error, OSError, ValueError) as err:
        raise visitor.refused or _trouble(hop, visitor, err, via is not None) from err
    finally:
        visitor.leave_agent()


async def begin(name: str, connection: Connection, line: str, patience_s: float) -> Session:
    """Start a session that runs the command line `line`. Raises HostError (unreachable), or ChannelRefused."""
    opening = asyncio.ensure_future(
        connection.create_session(
            cast(Any, Session), line, request_pty=False, x11_forwarding=False, send_env=None,
            encoding=None, window=WINDOW,
        )
    )  # fmt: skip
    try:
        async with asyncio.timeout(patience_s):
            _, session = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_end_unwanted)
        raise
    except (asyncssh.Error, OSError) as err:
        opening.add_done_callback(_end_unwanted)
        await asyncio.sleep(0)  # asyncssh sees the end of a connection one loop turn after that of its channels
        if isinstance(err, asyncssh.ChannelOpenError) and not connection.is_closed():
            raise ChannelRefused("config", f"{name}: after the login no program starts: {plain(err.reason)}") from err
        words = "it does not answer" if isinstance(err, TimeoutError) else f"the connection ends: {plain(str(err))}"
        raise HostError("unreachable", f"{name}: after the login {words}") from err
    return cast(Session, session)


def _end_unwanted(opening: "asyncio.Future[tuple[asyncssh.SSHClientChannel[bytes], Any]]") -> None:
    """End the session that an opening has led to: nobody waits for it any more, and others use the connection."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[0].abort()


async def let_go(connection: Connection) -> None:
    """Close the connection, without waiting long for a host that is gone."""
    connection.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LET_GO_S):
            await connection.wait_closed()


class _Visitor(asyncssh.SSHClient):
    """Our side of one login: what the host presents and asks for."""

    def __init__(self, hop: Hop, accept_new: bool) -> None:
        self.refused: HostError | None = None  # what is wrong with the host's key
        self.methods: dict[str, None] = {}  # that the host offers, in its order
        self.banner = ""
        self.tried = 0
        self.locked: list[Path] = []  # identities that need a passphrase
        self._hop = hop
        self._accept_new = accept_new
        self._accepted: HostKey | None = None
        self._connection: asyncssh.SSHClientConnection | None = None
        self._agent: asyncssh.SSHAgentClient | None = None
        self._asked = False

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Judge the host's key by the host's name alone: behind a jump host, `addr` is the jump host's."""
        self.refused = self._hop.judge(host, port, _text(key), key.get_fingerprint())
        if self._accept_new and isinstance(self.refused, UnknownHostKey):
            self._accepted, self.refused = self.refused.offered, None
        return self.refused is None

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        names = known_hosts.names_of(host, port, self._hop.alias)
        return _text(key) in self._hop.known.authorities(names)

    def begin_auth(self, username: str) -> None:
        """Add an accepted key to known_hosts. By now the host has proved that the key is its own."""
        if self._accepted is not None and self._hop.learns is not None:
            try:
                known_hosts.add(self._hop.learns, self._accepted.host, self._accepted.key)
            except OSError as err:
                log.warning("%s: its key could not be saved: %s", self._hop.name, err)
            else:
                log.info("%s: its key is %s from now on", self._hop.name, self._accepted.fingerprint)

    def auth_banner_received(self, msg: str, lang: str) -> None:
        self.banner = (self.banner + msg)[-KEPT:]

    async def public_key_auth_requested(self) -> list[asyncssh.SSHKeyPair] | None:
        self._hear()
        if self._asked:
            return None
        self._asked = True
        identities = await asyncio.to_thread(_identities, self._hop)
        agent = await self._agent_keys()
        held = {pair.public_data for pair in agent}
        named = {half for identity in identities for half in identity.halves}
        pairs = [pair for pair in agent if pair.public_data in named]
        pairs += [pair for identity in identities for pair in identity.pairs if pair.public_data not in held]
        if not self._hop.only_these:
            pairs += [pair for pair in agent if pair.public_data not in named]
        self.tried = len(pairs)
        self.locked = [identity.path for identity in identities if identity.locked and not identity.halves & held]
        return pairs or None

    def password_auth_requested(self) -> None:
        self._hear()

    def kbdint_auth_requested(self) -> None:
        self._hear()

    def leave_agent(self) -> None:
        if self._agent is not None:
            self._agent.close()

    def _hear(self) -> None:
        assert self._connection is not None
        self.methods.update(dict.fromkeys(self._connection.get_server_auth_methods()))

    async def _agent_keys(self) -> list[asyncssh.SSHKeyPair]:
        if not self._hop.agent:
            return []
        try:
            self._agent = await asyncssh.connect_agent(self._hop.agent)
            return list(await self._agent.get_keys())
        except (OSError, ValueError) as err:
            log.warning("%s: the agent at %s does not answer: %s", self._hop.name, self._hop.agent, err)
            return []


def _trouble(hop: Hop, visitor: _Visitor, err: Exception, tunnelled: bool) -> HostError:
    """Make a HostError that says why a hop could not be connected to."""

    def error(kind: HostErrorKind, words: str, remedy: str = "") -> HostError:
        return HostError(kind, f"{hop.name}: {plain(words)}", remedy)

    place = f"{hop.host} port {hop.port}"
    match err:
        case asyncssh.HostKeyNotVerifiable():
            return error("host_key", f"its key cannot be verified: {err}")
        case asyncssh.DisconnectError() if closed := CLOSED.search(f"{visitor.banner}\n{err.reason}"):
            return error("unreachable", f"{place} lets nobody in now: {closed[0]}")
        case asyncssh.PermissionDenied() | asyncssh.DisconnectError(reason="Too many authentication failures"):
            return hop.not_let_in(visitor.methods, visitor.tried, visitor.locked)
        case asyncssh.KeyExchangeFailed() if err.reason.startswith("No matching"):
            words = f"{hop.name}: no algorithm that both sides support: {plain(err.reason)}"
            return OnlyOpenSsh("config", words)
        case asyncssh.KeyExchangeFailed():
            return error("host_key", f"it does not prove that the key it shows is its own: {err.reason}")
        case asyncssh.ChannelOpenError(code=asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED) if tunnelled:
            return error("config", f"the jump host forbids connections to {place}: {err.reason}")
        case asyncssh.ChannelOpenError():
            return error("unreachable", f"the jump host does not reach {place}: {err.reason}")
        case TimeoutError():
            return error("unreachable", f"{place} does not answer, or does not complete the login, in time")
        case socket.gaierror():
            return error("unreachable", f"the name {hop.host} cannot be resolved: {err.strerror}")
        case FileNotFoundError() | PermissionError():
            return error("config", f"ssh's configuration: ProxyCommand: {err}")
        case OSError(errno=int(number)):
            return error("unreachable", f"{place}: {os.strerror(number)}")
        case ValueError():  # the configuration has been read by now
            return error("unreachable", f"{place}: its answer is not understood: {err}")
    return error("unreachable", f"{place}: {err}")


@dataclass(frozen=True, slots=True)
class _Identity:
    """The content of a file that IdentityFile names. `halves` are public: the agent may have the private ones."""

    path: Path
    halves: set[bytes]
    pairs: Sequence[asyncssh.SSHKeyPair]
    locked: bool  # it needs a passphrase


def _identities(hop: Hop) -> list[_Identity]:
    """Load the hop's identities. As with ssh, files that are missing or cannot be read are left out."""
    certificates: list[asyncssh.SSHCertificate] = []
    for path in hop.certificates:
        with contextlib.suppress(OSError, asyncssh.KeyImportError):
            certificates += asyncssh.load_certificates(path)
    found = []
    for path in hop.identities:
        halves, pairs, locked = set(), [], False
        for half in (path, path.with_name(f"{path.name}.pub")):
            with contextlib.suppress(OSError, asyncssh.KeyImportError):
                halves.add(asyncssh.read_public_key(half).public_data)
        try:
            pairs = list(asyncssh.load_keypairs(path, certlist=certificates))
        except asyncssh.KeyImportError as err:
            locked = "assphrase" in str(err)
        except OSError:
            pairs = []
        found.append(_Identity(path, halves | {pair.public_data for pair in pairs}, pairs, locked))
    return found


def _text(key: asyncssh.SSHKey) -> str:
    return " ".join(key.export_public_key().decode().split()[:2])


def _importable(keys: set[str]) -> list[asyncssh.SSHKey]:
    found = []
    for key in keys:
        with contextlib.suppress(asyncssh.KeyImportError):  # of a type that asyncssh cannot be shown, either
            found.append(asyncssh.import_public_key(key))
    return found
