"""Forbids the worker, for good, the system calls that no kernel needs: a filter as in native/calls.c, for Python.

It starts no process, opens no connection, and cannot ask for another process's memory or files. Where the machine or
the system is another than the filter knows, nothing is forbidden.
"""

from __future__ import annotations

import os
import struct
import sys

from kpd.hosts.helper.children import LIBC, prctl

SECCOMP, FILTER, NO_NEW_PRIVS = 22, 2, 38  # of prctl
ALLOW, KILL, DENY, UNKNOWN = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026  # EPERM, ENOSYS
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
LOAD, EQUAL, ANY_BIT, AT_LEAST, END = 0x20, 0x15, 0x45, 0x35, 0x06  # of BPF
CLONE_THREAD = 0x00010000
CLONE3 = 435
# pidfd_send_signal, io_uring, open_tree and on to fspick, pidfd_open, pidfd_getfd, process_madvise, process_mrelease
EVERYWHERE = (424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 440, 448)
# ptrace, process_vm_readv and _writev, kcmp, perf_event_open, bpf, userfaultfd, unshare, setns, mount, execve,
# execveat, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, setsid, socket, socketpair, connect, and on x86-64 fork and vfork
KNOWN = {
    "x86_64": (
        0xC000003E, 56, 62, 234,
        (101, 310, 311, 312, 298, 321, 323, 272, 308, 165, 59, 322, 200, 129, 297, 112, 41, 53, 42, 57, 58),
    ),
    "aarch64": (
        0xC00000B7, 220, 129, 131,
        (117, 270, 271, 272, 241, 280, 282, 97, 268, 40, 221, 281, 130, 138, 240, 157, 198, 199, 203),
    ),
}  # fmt: skip


def forbid() -> bool:
    """Install the filter for this process and all threads that it starts. Return whether it holds."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in KNOWN or LIBC is None:
        return False
    import ctypes

    program = b"".join(steps(*KNOWN[machine], pid=os.getpid()))
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    return bool(prctl(NO_NEW_PRIVS, 1)) and LIBC.prctl(SECCOMP, FILTER, head, 0, 0) == 0


def steps(architecture: int, clone: int, kill: int, tgkill: int, forbidden: tuple[int, ...], pid: int) -> list[bytes]:
    found = [
        step(LOAD, ARCHITECTURE), step(EQUAL, architecture, 1, 0), step(END, KILL), step(LOAD, NUMBER),
        step(AT_LEAST, 0x40000000, 0, 1), step(END, UNKNOWN),
    ]  # fmt: skip
    for number in (*forbidden, *EVERYWHERE):
        found += [step(EQUAL, number, 0, 1), step(END, DENY)]
    found += [step(EQUAL, CLONE3, 0, 1), step(END, UNKNOWN)]  # the C library then takes clone, whose flags can be seen
    found += allowed_if(clone, ANY_BIT, CLONE_THREAD) + allowed_if(kill, EQUAL, pid) + allowed_if(tgkill, EQUAL, pid)
    return [*found, step(END, ALLOW)]


def allowed_if(call: int, test: int, value: int) -> list[bytes]:
    """Allow a call only if its first argument passes the test."""
    return [
        step(EQUAL, call, 0, 4), step(LOAD, ARGUMENTS), step(test, value, 1, 0), step(END, DENY), step(END, ALLOW),
    ]  # fmt: skip


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)
