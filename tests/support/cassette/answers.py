"""The answers in a cassette's folder: a line each in answers.jsonl, what is long beside it, packed and by its hash."""

import fcntl
import gzip
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

HEADER, ANSWERS, BLOBS = "cassette.json", "answers.jsonl", "blobs"
LONG = 4096
"""Characters of an answer that stand in its line."""

Answer = dict[str, Any]
Text = str | dict[str, str]
"""Itself, or {"blob": its hash}."""


class Damaged(Exception):
    """The cassette is not what it was; the message says what of it."""


class Answers:
    """See `cassette.Answer` for the fields of one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self, key: str, words: str, status: int, stdout: str, stderr: str, report: bytes | None, contest: str = ""
    ) -> None:
        """Several programs may do so at once. `contest` is what an answer was part of whose order counts."""
        line = {
            "key": key, "words": words, "status": status, "stdout": self._text(stdout), "stderr": self._text(stderr),
            "report": "" if report is None else self._keep(report),
        }  # fmt: skip
        if contest:
            line["contest"] = contest
        with (self.folder / ANSWERS).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(line) + "\n")

    def find(self, key: str) -> list[Answer]:
        """All answers to a call, in their order. Raises Damaged."""
        try:
            with (self.folder / ANSWERS).open() as file:
                found = [json.loads(line) for line in file if key in line]
        except (OSError, ValueError) as err:
            raise Damaged(f"{ANSWERS} cannot be read: {err}") from err
        return [answer for answer in found if answer["key"] == key]

    def repeats(self) -> bool:
        """See `cassette.Cassette`. A cassette that is being recorded has no header yet."""
        header = self.folder / HEADER
        return header.is_file() and bool(json.loads(header.read_text()).get("repeats"))

    def text(self, text: Text) -> str:
        """Raises Damaged."""
        return text if isinstance(text, str) else self.blob(text["blob"]).decode(errors="replace")

    def blob(self, name: str) -> bytes:
        """Raises Damaged."""
        try:
            data = gzip.decompress(blob_path(self.folder, name).read_bytes())
        except (OSError, EOFError, ValueError) as err:
            raise Damaged(f"{BLOBS}/{name}.gz cannot be read: {err}") from err
        if hashlib.sha256(data).hexdigest() != name:
            raise Damaged(f"{BLOBS}/{name}.gz does not hold what its name says")
        return data

    def _text(self, text: str) -> Text:
        return text if len(text) <= LONG else {"blob": self._keep(text.encode())}

    def _keep(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
            file.write(data)
        path = blob_path(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_name(f"{name}.{os.getpid()}")
        fresh.write_bytes(packed.getvalue())
        fresh.replace(path)
        return name


def blob_path(folder: Path, name: str) -> Path:
    return folder / BLOBS / f"{name}.gz"
