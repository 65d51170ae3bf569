"""Confines a job with Linux's Landlock: what it may read, write and reach. That needs no privilege.

The rules hold for the process and for all that it starts, and nothing can take them back. A process in a sandbox cannot
look into one outside either, whoever owns both: neither its memory nor its environment. See landlock(7).

Where the kernel has no Landlock, the job runs under bubblewrap, if that is installed: it sees only the files that it
may read, and no process but its own.
"""

import contextlib
import functools
import glob
import os
import shutil
import signal
import stat
import struct
from pathlib import Path
from typing import NamedTuple, Sequence, Tuple  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.hosts.helper.children import LIBC, prctl

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
PATH_BENEATH = 1
ASK_VERSION = 1
NO_NEW_PRIVS = 38  # an option of prctl that Landlock asks for: no program started from now on gets more rights
TRIAL_S = 5.0  # for bubblewrap to show that it works here
FILTERED = ("x86_64", "aarch64")  # machines whose system calls native/calls.c knows
CAPABILITIES = 0x20080522  # the version of capset's structure

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE  # what a rule for a single file may name
ALL_RIGHTS = ((5, (1 << 16) - 1), (3, (1 << 15) - 1), (2, (1 << 14) - 1), (1, (1 << 13) - 1))  # by the first version
TCP = 3  # to bind and to connect, from version 4 on
OUTSIDE = 3  # abstract unix sockets and signals to processes outside the sandbox, from version 6 on

READ = EXECUTE | READ_FILE | READ_DIR
REWRITE = WRITE_FILE | TRUNCATE  # opens a file as C's "w" does
CHANGES = (1 << 15) - 1 & ~READ  # of files and folders: write, remove, make, refer, truncate
DEVICE = WRITE_FILE | READ_FILE | READ_DIR | IOCTL_DEVICE
SYSTEM = (
    "/usr", "/lib*", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/proc", "/sys", "/etc/ld.so.*",
    "/etc/alternatives", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/nvidia*",
    "/run/nvidia*",
)  # fmt: skip
# Of a GPU: NVIDIA's, the same on a Jetson, and under Windows.
GPUS = ("/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", *GPUS)


class Sandbox(NamedTuple):
    """What a job may read and write beside the system's programs and libraries: absolute paths, and all below them."""

    reads: Tuple[str, ...] = ()  # noqa: UP006
    writes: Tuple[str, ...] = ()  # noqa: UP006
    gpu: bool = (
        False  # CUDA names its threads, and so writes in /proc; what runs a candidate is `single`, or narrows that
    )
    capable: bool = False  # for profilers: it keeps its capabilities, and may open TCP connections and shared memory
    online: bool = False  # for coding agents: it may open TCP connections, and has no GPU
    single: bool = False  # with `gpu`: it writes in the part of /proc that is of this process


def toolchains(path: str) -> "list[str]":
    """Return the folders of programs on a PATH, with their libraries beside them, as patterns of paths."""
    found = []
    for folder in [Path(entry) for entry in path.split(os.pathsep) if os.path.isabs(entry)]:  # noqa: PTH117
        beside = ("lib*", "include", "share", "nvvm", "targets", "*-linux-*", "nsight-compute*", "compute-sanitizer")
        found.append(glob.escape(str(folder)))
        if folder.name == "bin" and folder.parent != Path("/"):
            found += [f"{glob.escape(str(folder.parent))}/{part}" for part in beside]
    return found


def make_devices() -> None:
    """Have NVIDIA's own program make the device files that CUDA will ask for: in a sandbox it has not the right to."""
    if Path("/proc/driver/nvidia").exists() and not Path("/dev/nvidia-uvm").exists():
        import subprocess  # a helper without need of it starts 3 ms sooner

        with contextlib.suppress(OSError):  # where it is not installed, CUDA says what it lacks
            subprocess.call(["nvidia-modprobe", "-u", "-c", "0"])


def version() -> int:
    """Return the version of Landlock that this kernel has; 0 where it has none, or where it is switched off."""
    return max(0, call(CREATE_RULESET, None, 0, ASK_VERSION))


def held() -> "dict[str, object]":
    """Return what this system has to confine jobs: see `model.hosts.Confinement`."""
    known = os.uname().machine in FILTERED and Path("/proc/sys/kernel/seccomp/actions_avail").exists()
    return {"landlock": version(), "bubblewrap": version() == 0 and bool(bubblewrap()), "filtered": known}


@functools.lru_cache(maxsize=None)  # noqa: UP033 - Python 3.6 has no functools.cache
def bubblewrap() -> str:
    """Return the path of a bubblewrap that works here; empty without one, or where it may make no namespaces."""
    found = shutil.which("bwrap")
    if found is None:
        return ""
    import subprocess

    null = subprocess.DEVNULL
    with contextlib.suppress(subprocess.TimeoutExpired, OSError):
        trial = [*wrapped(Sandbox(), found), "--chdir", "/", "echo", "works"]  # as a job's, but for its folder
        # The helper ignores SIGCHLD, which bubblewrap waits for; and it gets no child's status.
        said = subprocess.run(trial, stdin=null, stdout=subprocess.PIPE, stderr=null, timeout=TRIAL_S, preexec_fn=heed)
        return found if said.stdout == b"works\n" else ""
    return ""


def heed() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def wrapped(sandbox: Sandbox, program: str) -> "list[str]":
    """Return the command, but for what runs in it, by which bubblewrap confines a job in its folder."""
    make_devices()
    command = [program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--proc", "/proc"]
    if not sandbox.capable:
        command += [*(() if sandbox.online else ("--unshare-net",)), "--cap-drop", "ALL"]
    shared = [path for path in SYSTEM if path != "/proc"]
    command += ["--dev", "/dev", *binds("--dev-bind", DEVICES if sandbox.gpu else ())]
    command += [*binds("--ro-bind", (*shared, *sandbox.reads)), *binds("--bind", sandbox.writes)]
    return [*command, "--chdir", str(Path.cwd())]


def binds(option: str, patterns: "Sequence[str]") -> "list[str]":
    paths = [found for pattern in patterns for found in glob.glob(pattern)]  # noqa: PTH207 - the patterns are absolute
    return [word for path in paths for word in (option, path, path)]


def confine(sandbox: Sandbox) -> "list[str]":
    """Confine this process for good. A path that does not exist gives no right. Raises OSError.

    Returns the command, without Landlock that of bubblewrap, that what is to be confined has in front: it may be empty.
    Without both nothing is confined: `held` says so beforehand.
    """
    has = version()
    if not has:
        return wrapped(sandbox, bubblewrap()) if bubblewrap() else []
    make_devices()
    rights = next(rights for since, rights in ALL_RIGHTS if has >= since)
    tcp = TCP if has >= 4 and not (sandbox.capable or sandbox.online) else 0
    terms = struct.pack("QQQ", rights, tcp, OUTSIDE if has >= 6 else 0)
    ruleset = call(CREATE_RULESET, terms, 24 if has >= 6 else 16 if has >= 4 else 8, 0)
    if ruleset < 0:
        raise OSError("Landlock: no ruleset can be made")
    writes = (*sandbox.writes, "/dev/shm") if sandbox.capable else sandbox.writes
    proc = ("/proc/self" if sandbox.single else "/proc",) if sandbox.gpu else ()
    devices = DEVICES[: -len(GPUS)] if sandbox.online else DEVICES
    rules = (
        (READ, (*SYSTEM, *sandbox.reads)), (READ_DIR, ("/dev",)), (DEVICE, devices), (rights, writes), (REWRITE, proc),
    )  # fmt: skip
    for given, paths in rules:
        for path in [found for pattern in paths for found in glob.glob(pattern)]:  # noqa: PTH207 - the patterns are absolute
            allow(ruleset, path, given & rights)
    if not prctl(NO_NEW_PRIVS, 1) or call(RESTRICT_SELF, ruleset, 0, 0) < 0:
        raise OSError("Landlock: the process cannot be confined")
    os.close(ruleset)
    if not sandbox.capable and LIBC is not None:  # root's could read the memory maps of any process
        LIBC.capset(struct.pack("=Ii", CAPABILITIES, 0), bytes(24))
    return []


def narrow(writes: "Sequence[str]") -> None:
    """Let this process change what is below these paths, and nothing else, for good. Nothing holds without Landlock."""
    has = version()
    if not has:
        return
    rights = next(rights for since, rights in ALL_RIGHTS if has >= since) & CHANGES
    ruleset = call(CREATE_RULESET, struct.pack("Q", rights), 8, 0)
    if ruleset < 0:
        raise OSError("Landlock: no ruleset can be made")
    for path in writes:
        allow(ruleset, path, rights)
    if not prctl(NO_NEW_PRIVS, 1) or call(RESTRICT_SELF, ruleset, 0, 0) < 0:
        raise OSError("Landlock: the process cannot be confined")
    os.close(ruleset)


def allow(ruleset: int, path: str, rights: int) -> None:
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        given = rights if stat.S_ISDIR(os.fstat(beneath).st_mode) else rights & OF_FILES
        if call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", given, beneath), 0) < 0:
            raise OSError(f"Landlock: no rule can be made for {path}")
    finally:
        os.close(beneath)


def call(number: int, *arguments: "int | bytes | None") -> int:
    return -1 if LIBC is None else int(LIBC.syscall(number, *arguments))
