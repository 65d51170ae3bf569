"""Has this process use memory again that it has freed, where the C library would give large blocks back to the system.

Inputs and truths are tens of MiB, of which each operation takes such a block: clearing its pages took longer than to
compute.
"""

from __future__ import annotations

from kpd.hosts.helper.children import LIBC

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # options of glibc's mallopt
KEPT = 1 << 30  # bytes free at the end of the heap, from which on they are given back


def keep() -> None:
    """Keep what is freed, in this process and in those forked from it later; other C libraries stay as they are.

    No process that runs kernels may have this: it changes how fast they allocate.
    """
    mallopt = getattr(LIBC, "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, KEPT)
