"""Appends a table to config.toml and leaves the rest of the file as it is."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kpd.cli.exit_codes import CliError
from kpd.workspace.config import Config, load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import write_atomic
from kpd.workspace.strict import ConfigError


def append(ws: Workspace, head: str, rows: Sequence[str], meant: Callable[[Config], bool]) -> None:
    """Append the table `head` with these rows. Raises CliError, and leaves the file unchanged, where it is not `meant`.

    `meant` is asked of the file as it would load then.
    """
    raw = ws.config.read_bytes() if ws.config.exists() else b""
    newline = b"\r\n" if b"\r\n" in raw else b"\n"
    gap = b"" if not raw else newline if raw.endswith(b"\n") else newline * 2
    new = raw + gap + newline.join([*(row.encode() for row in (head, *rows)), b""])
    try:
        loaded = _load(new)
    except ConfigError as err:
        message = f"{ws.config} cannot take a table {head} at its end: {err.what}"
        raise CliError(message, err.remedy or "write it where it belongs") from err
    if not meant(loaded):
        raise CliError(f"{ws.config} would not read as meant with {head} at its end", "write it where it belongs")
    write_atomic(ws.config.resolve(), new)


def _load(raw: bytes) -> Config:
    """Load the bytes as a config.toml. Raises ConfigError."""
    with tempfile.TemporaryDirectory(prefix="kpd-") as folder:
        trial = Workspace(Path(folder))
        trial.config.write_bytes(raw)
        return load_config(trial)
