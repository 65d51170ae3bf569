"""Forbids the worker, for good, the system calls that no kernel needs: a filter as in native/calls.c, for Python.

It cannot ask for another process's memory or files, or have it scheduled otherwise. No signal wakes it up while its
parent has stopped it, or takes back a stop that has begun: neither a file's nor one that it, or what it starts, sends.
On a CPU it starts no process, opens no connection, sets no timer, changes neither a file's attributes nor how it is
scheduled, and takes no memory that is in no limit. Where the machine or the system is another than the filter knows,
nothing is forbidden.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Iterable
from typing import NamedTuple

from kpd.hosts.helper.children import LIBC, prctl

FILTER, ALL_THREADS = 1, 1  # of seccomp
NO_NEW_PRIVS = 38  # of prctl
ALLOW, KILL, DENY, UNKNOWN = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026  # EPERM, ENOSYS
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
LOAD, EQUAL, ANY_BIT, AT_LEAST, END = 0x20, 0x15, 0x45, 0x35, 0x06  # of BPF
CLONE_THREAD = 0x00010000
MAP_SHARED = 1
CLONE3 = 435
# pidfd_send_signal, io_uring, open_tree and on to fspick, pidfd_open, pidfd_getfd, process_madvise, mount_setattr,
# memfd_secret, process_mrelease
EVERYWHERE = (424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 440, 442, 447, 448)
FILES = (452, 463, 466, 469)  # fchmodat2, setxattrat, removexattrat, file_setattr


class Machine(NamedTuple):
    """The numbers of a machine's calls: those whose arguments decide, those that no worker needs, and those of a GPU's.

    There Triton starts compilers and keeps what they make, and CUDA's driver has threads, timers and sockets.

    In lines: ptrace, process_vm_readv and _writev, kcmp, perf_event_open, bpf, userfaultfd, unshare, setns, mount,
    umount2, pivot_root, chroot, open_by_handle_at, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, personality;
    add_key, request_key, keyctl, shmget, shmat, msgget, semget, mq_open, setpriority, ioprio_set.
    Then execve, execveat, setsid, setpgid, socket, socketpair, connect, memfd_create;
    setitimer, timer_create, timerfd_create;
    fchmod, fchmodat, fchown, fchownat, utimensat, setxattr, lsetxattr and fsetxattr, removexattr and its two likes;
    and on x86-64 fork, vfork, alarm, chmod, chown, lchown, utime, utimes, futimesat.
    sched_setparam, _setscheduler, _setaffinity and _setattr, on a GPU for the calling thread only.
    Last what no profiler needs, though root may do it: reboot, init_module, finit_module, delete_module, kexec_load,
    kexec_file_load, settimeofday, clock_settime, adjtimex, clock_adjtime, swapon, swapoff, sethostname, setdomainname,
    acct, quotactl, setns, bpf, setpriority, ioprio_set; and on x86-64 iopl, ioperm.
    """

    architecture: int
    some: dict[str, int]
    forbidden: tuple[int, ...]
    of_a_gpu: tuple[int, ...]
    scheduling: tuple[int, ...]
    of_the_machine: tuple[int, ...]


KNOWN = {
    "x86_64": Machine(
        0xC000003E, {"clone": 56, "kill": 62, "tgkill": 234, "prlimit64": 302, "fcntl": 72, "mmap": 9},
        (
            101, 310, 311, 312, 298, 321, 323, 272, 308, 165,
            166, 155, 161, 304, 200, 129, 297, 135,
            248, 249, 250, 29, 30, 68, 64, 240, 141, 251,
        ),
        (
            59, 322, 112, 109, 41, 53, 42, 319,
            38, 222, 283,
            91, 268, 93, 260, 280, 188, 189, 190, 197, 198, 199,
            57, 58, 37, 90, 92, 94, 132, 235, 261,
        ),
        (142, 144, 203, 314),
        (169, 175, 313, 176, 246, 320, 164, 227, 159, 305, 167, 168, 170, 171, 163, 179, 308, 321, 141, 251, 172, 173),
    ),
    "aarch64": Machine(
        0xC00000B7, {"clone": 220, "kill": 129, "tgkill": 131, "prlimit64": 261, "fcntl": 25, "mmap": 222},
        (
            117, 270, 271, 272, 241, 280, 282, 97, 268, 40,
            39, 41, 51, 265, 130, 138, 240, 92,
            217, 218, 219, 194, 196, 186, 190, 180, 140, 30,
        ),
        (
            221, 281, 157, 154, 198, 199, 203, 279,
            103, 107, 85,
            52, 53, 55, 54, 88, 5, 6, 7, 14, 15, 16,
        ),
        (118, 119, 122, 274),
        (142, 105, 273, 106, 104, 294, 170, 112, 171, 266, 224, 225, 161, 162, 89, 60, 268, 280, 140, 30),
    ),
}  # fmt: skip
SECCOMP = {"x86_64": 317, "aarch64": 277}
# Of fcntl: who gets a file's signals, which (F_SETSIG), and of what: F_SETLEASE, F_NOTIFY.
SIGNALS = (8, 15, 10, 1024, 1026)


def forbid(gpu: bool) -> bool:
    """Install the filter for this process, the threads that it has, and all that it starts. Return whether it holds."""
    known = KNOWN.get(os.uname().machine)
    return known is not None and install([*head(known), *steps(known, os.getpid(), gpu)])


def narrow() -> bool:
    """Forbid for good, under a profiler, what changes the machine or another process. Return whether it holds."""
    known = KNOWN.get(os.uname().machine)
    return known is not None and install(
        [*head(known), *denied(known.of_the_machine), *only_itself(known), step(END, ALLOW)]
    )


def install(filter: list[bytes]) -> bool:
    if sys.platform != "linux" or LIBC is None:
        return False
    import ctypes

    program = b"".join(filter)
    code = ctypes.create_string_buffer(program, len(program))
    about = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    return prctl(NO_NEW_PRIVS, 1) and LIBC.syscall(SECCOMP[os.uname().machine], FILTER, ALL_THREADS, about) == 0


def head(machine: Machine) -> list[bytes]:
    """Begin a filter: with the number of the call, of this architecture alone."""
    return [
        step(LOAD, ARCHITECTURE), step(EQUAL, machine.architecture, 1, 0), step(END, KILL), step(LOAD, NUMBER),
        step(AT_LEAST, 0x40000000, 0, 1), step(END, UNKNOWN),
    ]  # fmt: skip


def denied(calls: Iterable[int]) -> list[bytes]:
    return [one for number in calls for one in (step(EQUAL, number, 0, 1), step(END, DENY))]


def only_itself(machine: Machine) -> list[bytes]:
    return [one for call in machine.scheduling for one in allowed_if(call, EQUAL, 0)]


def steps(machine: Machine, pid: int, gpu: bool) -> list[bytes]:
    some = machine.some
    on_a_cpu = () if gpu else (*machine.of_a_gpu, *machine.scheduling, *FILES)
    found = denied((*machine.forbidden, *EVERYWHERE, *on_a_cpu))
    if gpu:
        found += allowed_if(some["kill"], EQUAL, signal.SIGCONT, 1, bad=True)
        found += allowed_if(some["tgkill"], EQUAL, signal.SIGCONT, 2, bad=True)
        found += only_itself(machine)
    else:
        found += [step(EQUAL, CLONE3, 0, 1), step(END, UNKNOWN)]  # the C library takes clone, whose flags can be seen
        found += allowed_if(some["clone"], ANY_BIT, CLONE_THREAD)
        found += signals(some["kill"], pid, 1) + signals(some["tgkill"], pid, 2)
        found += allowed_if(some["mmap"], ANY_BIT, MAP_SHARED, 3, bad=True)  # such memory can be kept and not be seen
    found += allowed_if(some["prlimit64"], EQUAL, 0)  # its own limits
    found += [step(EQUAL, some["fcntl"], 0, len(SIGNALS) + 1), step(LOAD, ARGUMENTS + 8)]
    found += [step(EQUAL, one, len(SIGNALS) - at, 0) for at, one in enumerate(SIGNALS)]
    return [*found, step(END, ALLOW), step(END, DENY)]


def allowed_if(call: int, test: int, value: int, argument: int = 0, bad: bool = False) -> list[bytes]:
    """Allow a call only if its argument of this number passes the test; where that is `bad`, only if it does not."""
    return [
        step(EQUAL, call, 0, 4), step(LOAD, ARGUMENTS + 8 * argument), step(test, value, not bad, bad),
        step(END, DENY), step(END, ALLOW),
    ]  # fmt: skip


def signals(call: int, pid: int, argument: int) -> list[bytes]:
    """Allow a call that sends a signal, its argument of this number, to this process only, and no SIGCONT."""
    return [
        step(EQUAL, call, 0, 6), step(LOAD, ARGUMENTS), step(EQUAL, pid, 0, 2), step(LOAD, ARGUMENTS + 8 * argument),
        step(EQUAL, signal.SIGCONT, 0, 1), step(END, DENY), step(END, ALLOW),
    ]  # fmt: skip


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)
