"""Looks at files of a project and replaces them by rename."""

import contextlib
import hashlib
import mmap
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused, check_relative
from kpd.production.far import elf
from kpd.production.far.plan import ABSENT, LINK, STRANGE, Entry

CHUNK = 1 << 20
MOST_LISTED = 200000
MOST_TOLD = 20


def place_of(root: Path, name: str) -> Path:
    """Return the path of a project's file. Raises RequestRefused where a symbolic link is on the way to it."""
    path = below(root, name)
    if path.is_symlink():
        raise RequestRefused("refused", f"{path} is a symbolic link: name the real file")
    return path


def below(root: Path, name: str) -> Path:
    """Return the path of a project's file, which may be a link. Raises RequestRefused where it lies behind one."""
    path = root / check_relative(name)
    if Path(os.path.realpath(str(path.parent))) != path.parent:
        raise RequestRefused("refused", f"{path} lies behind a symbolic link: name the real file")
    return path


def seen(root: Path, name: str) -> str:
    """Return the hash of a project's file as it is now; ABSENT, LINK or STRANGE where it is none."""
    try:
        path = below(root, name)
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return LINK
        if not stat.S_ISREG(mode):
            return STRANGE
        return sha_of(path)
    except RequestRefused:
        return STRANGE
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT


def sha_of(path: Path) -> str:
    """Return the sha256 of a file's content."""
    summed = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(CHUNK), b""):
            summed.update(piece)
    return summed.hexdigest()


def same_program(one: Path, other: Path) -> bool:
    """Return whether two binaries differ in nothing that runs: symbols, debug information and the build's id aside.

    nvcc leaves names of temporary files among the symbols, so no two of its builds have the same bytes. What is
    still to be linked keeps the symbols that say with what. Bytes that no section covers count, too: a program can read
    them from its own file, and objcopy drops them. False for what is neither an ELF file nor an archive of such.
    """
    stripped = []
    try:
        if beside_sections(one) != beside_sections(other):
            return False
    except elf.NotUnderstood:
        return False
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate((one, other)):
            to = Path(folder, str(number))
            words = ["objcopy", "--strip-unneeded", "--remove-section=.note.gnu.build-id", str(path), str(to)]
            try:
                done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            except OSError:  # there are no binutils
                return False
            if done.returncode != 0:
                return False
            stripped.append(sha_of(to))
    return stripped[0] == stripped[1]


def beside_sections(path: Path) -> "list[bytes]":
    """Return the bytes of a binary that no section covers. Raises NotUnderstood."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise elf.NotUnderstood("it is empty")
        return elf.leftovers(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def described(root: Path, name: str, kind: str) -> Entry:
    """Describe a file as it is before a change. Raises RequestRefused for what kpd could not restore.

    A binary may be absent: restoring then removes what a build made.
    """
    path = place_of(root, name)
    try:
        found = path.lstat()
    except FileNotFoundError as err:
        if kind == "binary":
            return Entry(name, kind, ABSENT, 0o755, os.geteuid(), os.getegid())
        raise RequestRefused("not_found", f"there is no file {path}") from err
    if not stat.S_ISREG(found.st_mode):
        raise RequestRefused("refused", f"{path} is no regular file")
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise RequestRefused("refused", f"{path} belongs to another user: kpd could not restore its owner")
    mode, time_ns = stat.S_IMODE(found.st_mode), found.st_mtime_ns
    return Entry(name, kind, sha_of(path), mode, found.st_uid, found.st_gid, mtime_ns=time_ns)


def check_writable(path: Path) -> None:
    """Make and remove a file beside `path`. Raises OSError where that is not possible."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.kpd-new")  # nobody else's, and none that is written
    descriptor = os.open(str(beside), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    os.close(descriptor)
    beside.unlink()


def beside_of(path: Path) -> Path:
    """Return the name under which the new content of a file is written beside it before it takes the file's place."""
    return path.with_name(f".{path.name}.kpd-new")


def keep(path: Path, sha: str, folder: Path) -> None:
    """Copy a file into the folder of originals, under its hash. Raises RequestRefused where it changes meanwhile."""
    kept = folder / sha
    if kept.exists() and sha_of(kept) == sha:
        return
    new = folder / f"{sha}.new"
    copy(path, new, 0o600)
    if sha_of(new) != sha:
        new.unlink()
        raise RequestRefused("busy", f"{path} changes while it is copied: somebody works on it")
    new.replace(kept)
    flush(folder)


def replace(path: Path, content: Path, sha: str, entry: Entry, before: str) -> bool:
    """Give a file the content of another one, by rename; return False where it is not `before` any more by then.

    The new file has the mode and the owner that the entry has. A source has the present time: a build that compares
    times has to see that it has changed. An original binary has its own again: else it would be newer than every
    source, and that build would not make it any more. Raises RequestRefused (corrupt) where `content` is not what its
    hash says.
    """
    beside = beside_of(path)
    copy(content, beside, entry.mode)
    if sha_of(beside) != sha:
        beside.unlink()
        raise RequestRefused("corrupt", f"{content} is not what its name says: nothing was restored from it")
    owner = beside.lstat()
    if (owner.st_uid, owner.st_gid) != (entry.uid, entry.gid):
        os.chown(str(beside), entry.uid, entry.gid)
        beside.chmod(entry.mode)  # a change of the owner drops some bits
    if entry.kind == "binary" and sha == entry.sha and entry.mtime_ns:
        os.utime(str(beside), ns=(entry.mtime_ns, entry.mtime_ns))
    if seen(path.parent, path.name) != before:
        beside.unlink()
        return False
    beside.replace(path)
    flush(path.parent)
    return True


def copy(source: Path, target: Path, mode: int) -> None:
    """Copy a file's content to a new file with this mode, down to the disk. An OSError names the file."""
    with contextlib.suppress(FileNotFoundError):
        target.unlink()
    descriptor = os.open(str(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with source.open("rb") as file, os.fdopen(descriptor, "wb") as made:
            shutil.copyfileobj(file, made, CHUNK)
            made.flush()
            os.fsync(made.fileno())
    except OSError as err:
        raise OSError(err.errno, err.strerror, err.filename or str(target)) from err
    target.chmod(mode)


def flush(folder: Path) -> None:
    """Bring a folder's entries down to the disk."""
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def listing(root: Path, leave_out: "list[str]") -> "dict[str, list[int]] | None":
    """List what lies below a root: size, time and mode of each file; None where there are too many to look at.

    `leave_out` are folders and files, relative to the root, that are not looked at; "." leaves out everything.
    """
    left_out = {str(root / name) for name in leave_out}
    if str(root) in left_out:
        return {}
    found = {}  # type: dict[str, list[int]]
    for at, folders, names in os.walk(str(root)):
        folders[:] = [name for name in folders if str(Path(at, name)) not in left_out]
        for name in names:
            path = Path(at, name)
            if str(path) not in left_out:
                with contextlib.suppress(FileNotFoundError):
                    is_now = path.lstat()
                    found[str(path.relative_to(root))] = [is_now.st_size, is_now.st_mtime_ns, is_now.st_mode]
        if len(found) > MOST_LISTED:
            return None
    return found


def touched(before: "dict[str, list[int]]", after: "dict[str, list[int]]") -> "list[str]":
    """Return the paths that two listings do not have alike, the first of many."""
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))[:MOST_TOLD]
