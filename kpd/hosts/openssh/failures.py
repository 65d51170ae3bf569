"""Turns error messages of the OpenSSH client into HostErrors."""

import re
import shlex
from dataclasses import dataclass

from kpd.hosts.errors import CLOSED, HostError, HostErrorKind

# Searched in this order: behind a jump host, ssh's last line says only that the connection to it has closed.
SAYINGS: tuple[tuple[HostErrorKind, re.Pattern[str]], ...] = (
    ("host_key", re.compile(r"Host key verification failed")),
    ("unreachable", CLOSED),
    ("auth", re.compile(r": Permission denied \(|Too many authentication failures|No more authentication methods")),
    (
        "config",
        re.compile(
            r"no matching .* found|too long|unix_listener: |hostname contains invalid characters"
            r"|administratively prohibited|Bad owner or permissions|command-line"
        ),
    ),
    (
        "unreachable",
        re.compile(
            r"Session open refused by peer|Could not resolve hostname|connect to host |open failed: connect failed"
            r"|timed out|not responding"
        ),
    ),
)
CAUSES = re.compile(r"Load key |sign_and_send_pubkey: |UNPROTECTED PRIVATE KEY")  # said before "Permission denied"


@dataclass(frozen=True, slots=True)
class ManualCommands:
    """What a person types into a terminal: to log in on the host, and to open a master that kpd will use."""

    login: str
    master: str


def explain(address: str, words: str, by_hand: ManualCommands) -> HostError:
    """Make a HostError of an ssh that ended with status 255.

    `words` is its stderr, in English.
    """
    lines = [line for raw in words.splitlines() if (line := "".join(filter(str.isprintable, raw)).strip())]
    for kind, saying in SAYINGS:
        said = next((line for line in lines if saying.search(line)), "")
        if not said:
            continue
        if kind == "host_key":
            return _host_key(address, "\n".join(lines), by_hand)
        if kind == "auth":
            said = "; ".join([*(line for line in lines if CAUSES.search(line)), said])
        return HostError(kind, f"{address}: {said}", _remedy(kind, said, by_hand))
    return HostError("unreachable", f"{address}: {lines[-1] if lines else 'ssh ended without a word'}")


def _remedy(kind: HostErrorKind, said: str, by_hand: ManualCommands) -> str:
    """Return the remedy for this error; empty for the usual one of its kind."""
    if kind == "auth":
        return (
            f"if it wants a touch, a PIN, a code or a password, open the connection in a terminal with "
            f"`{by_hand.master}` and kpd uses it at its next try; otherwise check the user and the key with `ssh -v`"
        )
    if "Session open refused" in said:
        return "the server allows no more sessions in this connection (MaxSessions); kpd keeps trying"
    return ""


def _host_key(address: str, words: str, by_hand: ManualCommands) -> HostError:
    if "IDENTIFICATION HAS CHANGED" in words:
        shown = re.search(r"SHA256:[\w+/]+", words)
        message = f"{address}: THE HOST'S KEY HAS CHANGED{f', it is now {shown[0]}' if shown else ''}: "
        message += "another machine may be posing as the host, or the host was reinstalled"
        remedy = (
            f"ask whoever runs the host; only if the new key is the host's, {_forget(words)}, then {_compare(by_hand)}"
        )
        return HostError("host_key", message, remedy)
    if "REVOKED HOST KEY" in words:
        return HostError("host_key", f"{address}: the host's key is marked as revoked", "ask whoever runs the host")
    unknown = re.search(r"No .* host key is known for \S+", words)
    if unknown is None:  # a jump host's, whose ssh goes by its own configuration
        return HostError("host_key", f"{address}: a host key on the way is not known", _compare(by_hand))
    remedy = f"{_compare(by_hand)}, or set accept_new = true for the host"
    return HostError("host_key", f"{address}: {unknown[0]}", remedy)


def _forget(words: str) -> str:
    file = re.search(r"^Offending .*key in (.+):\d+$", words, re.MULTILINE)
    host = re.search(r"ost key for (\S+) has changed", words)
    if file is None or host is None:
        return "remove the old one from known_hosts"
    return f"`{shlex.join(['ssh-keygen', '-f', file[1], '-R', host[1]])}`"


def _compare(by_hand: ManualCommands) -> str:
    return f"run `{by_hand.login}` once in a terminal and compare the fingerprint"
