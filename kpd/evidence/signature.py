"""Signs a bundle's manifest with an SSH key, and checks the signature: all with `ssh-keygen -Y`."""

import subprocess
import tempfile
from pathlib import Path

from kpd.evidence.archive import Bundle
from kpd.evidence.line import VerifiedLine

NAMESPACE = "kpd-bundle"
"""What the signature is for, so that one of something else does not count."""
MOST_SIGNATURE = 64 << 10


class CannotSign(Exception):
    """The error that ssh-keygen made no signature; the message is its own."""


def sign(manifest: bytes, key: Path) -> bytes:
    """Return the signature of a manifest by the key, which may be in the SSH agent. Raises CannotSign."""
    done = _keygen(["-Y", "sign", "-f", str(key), "-n", NAMESPACE], manifest)
    if done.returncode or not done.stdout:
        raise CannotSign(_said(done) or f"ssh-keygen ended with {done.returncode}")
    return done.stdout


def check(bundle: Bundle, signers: Path | None) -> VerifiedLine:
    """Say whose the signature is; without `signers` (a file of allowed signers), only which key made it.

    Raises CannotSign where there is no ssh-keygen.
    """
    if bundle.signature is None:
        if signers is None:
            return VerifiedLine(
                True, "signature", "none: the figures follow from the samples, but nobody vouches for these"
            )
        return VerifiedLine(False, "signature", "is missing")
    if len(bundle.signature) > MOST_SIGNATURE:
        return VerifiedLine(False, "signature", "is too large to be one")
    with tempfile.NamedTemporaryFile(prefix="kpd-", suffix=".sig") as file:
        file.write(bundle.signature)
        file.flush()
        return _checked(bundle.signed, file.name, signers)


def _checked(manifest: bytes, signature: str, signers: Path | None) -> VerifiedLine:
    about = ["-n", NAMESPACE, "-s", signature]
    if signers is None:
        done = _keygen(["-Y", "check-novalidate", *about], manifest)
        whose = "whose key that is was not checked: --signers FILE does"
        return VerifiedLine(
            not done.returncode, "signature", f"{_said(done)}; {whose}" if not done.returncode else _said(done)
        )
    found = _keygen(["-Y", "find-principals", "-s", signature, "-f", str(signers)], b"")
    who = found.stdout.decode(errors="replace").splitlines()
    if found.returncode or not who:
        return VerifiedLine(False, "signature", f"is by no signer of {signers}")
    done = _keygen(["-Y", "verify", *about, "-f", str(signers), "-I", who[0]], manifest)
    return VerifiedLine(not done.returncode, "signature", _said(done))


def _keygen(options: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *options], input=data, capture_output=True, check=False)
    except OSError as err:
        raise CannotSign(f"ssh-keygen cannot be run: {err.strerror}") from err


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the line that ssh-keygen printed for people."""
    lines = (done.stdout + b"\n" + done.stderr).decode(errors="replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "ssh-keygen refused it")
