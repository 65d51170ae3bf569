"""Stores content by its sha256 and builds folders of it. Content is hashed again before use."""

import contextlib
import errno
import hashlib
import itertools
import json
import os
import stat
import time
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused, check_relative, check_sha, remove, write_new
from kpd.hosts.helper.wire import MAX_BODY, Header


class ContentStore:
    """`blobs/<sha256>` and `trees/<digest>/` under one root. Files appear complete: written elsewhere, then renamed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs"
        self.trees = root / "trees"
        self.tmp = root / "tmp"
        self.serial = itertools.count()

    def fresh(self) -> Path:
        """Return a path in tmp/ that nobody else uses."""
        return self.tmp / f"{int(time.time() * 1000)}-{os.getpid()}-{next(self.serial)}"

    def put(self, blobs: "list[tuple[str, int]]", body: bytes) -> None:
        """Store blobs, given as (sha256, size) with their bytes in a row.

        Raises RequestRefused (corrupt) for a blob with the wrong hash.
        """
        at = 0
        for sha, size in blobs:
            data = body[at : at + size]
            at += size
            if hashlib.sha256(data).hexdigest() != check_sha(sha):
                raise RequestRefused("corrupt", f"the bytes sent as {sha} are not that content")
            new = self.fresh()
            try:
                write_new(new, data, 0o400)
                new.replace(self.blobs / sha)
            except OSError:
                with contextlib.suppress(FileNotFoundError):
                    new.unlink()
                raise

    def blob(self, sha: str) -> "bytes | None":
        """Return a blob's bytes. A blob that no longer has its hash is removed and counts as absent."""
        path = self.blobs / sha
        data = content_of(path)
        if data is not None and hashlib.sha256(data).hexdigest() == sha:
            return data
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return None

    def tree(self, files: "dict[str, str]") -> Header:
        """Make a folder with these files, read-only (path: sha256), and return its digest.

        Where blobs are missing, return `missing` instead, the list of their hashes. Raises RequestRefused for bad
        paths.
        """
        for name, sha in files.items():
            check_relative(name)
            check_sha(sha)
        digest = hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()
        place = self.trees / digest
        if place.is_dir():
            if holds(place, files):
                os.utime(str(place))  # `clean` goes by the last use
                return {"digest": digest}
            remove(place)
        contents = {}
        for sha in set(files.values()):
            data = self.blob(sha)
            if data is not None:
                contents[sha] = data
        missing = sorted(set(files.values()) - set(contents))
        if missing:
            return {"missing": missing}
        new = self.fresh()
        try:
            build(new, files, contents)
            new.rename(place)
        except OSError as err:
            remove(new)
            if err.errno in (errno.EEXIST, errno.ENOTEMPTY) and place.is_dir():
                return self.tree(files)  # another helper was first
            if err.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR):
                raise RequestRefused("refused", "the tree names one path as a file and as a folder") from err
            raise
        return {"digest": digest}


def build(new: Path, files: "dict[str, str]", contents: "dict[str, bytes]") -> None:
    new.mkdir()
    for name, sha in files.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        write_new(new / name, contents[sha], 0o444)


def holds(place: Path, files: "dict[str, str]") -> bool:
    """Return whether a tree still has exactly these files.

    A job runs as their owner, who can change even read-only files.
    """
    found = {}
    for at, folders, names in os.walk(str(place)):
        if any(Path(at, name).is_symlink() for name in folders):
            return False
        for name in names:
            path = Path(at, name)
            data = content_of(path)
            if data is None:
                return False
            found[str(path.relative_to(place))] = hashlib.sha256(data).hexdigest()
    return found == files


def content_of(path: Path) -> "bytes | None":
    """Read a file; return None for what can be no content: absent, unreadable, no regular file, or over MAX_BODY bytes.

    A job may put anything in its place, and must not be able to block the helper with it.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and os.fstat(descriptor).st_size <= MAX_BODY:
                return file.read()
    return None
