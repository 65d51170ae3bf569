"""Renders what keeps a candidate's jobs to themselves on a host, and what does not hold there."""

from kpd.model.hosts import Confinement

RESIZES, NETWORK, SIGNALS = 3, 4, 6
"""The versions of Landlock since which it covers the sizes of files, TCP, and signals to other processes."""


def means(has: Confinement) -> str:
    """Say what confines jobs of candidates, in a few words."""
    sandbox = f"Landlock {has.landlock}" if has.landlock else "bubblewrap" if has.bubblewrap else "no sandbox"
    return f"{sandbox}, {'system calls filtered' if has.filtered else 'no filter of system calls'}"


def holds(has: Confinement) -> tuple[str, ...]:
    """List what candidates cannot do there; empty where nothing confines them."""
    if not has.confined:
        return ("kernels write no file and start no program",) if has.filtered else ()
    since = {
        1: "candidates read the system's files and their own, and write in their own folder",
        NETWORK: "builds open no TCP connection",
        SIGNALS: "builds signal no process outside",
    }
    found = tuple(what for version, what in since.items() if has.bubblewrap or has.landlock >= version)
    return (*found, "kernels start no program and open no connection") if has.filtered else found


def lacks(has: Confinement) -> tuple[str, ...]:
    """List what candidates can do there that a newer kernel would prevent; empty where all holds."""
    if not has.confined:
        told = "builds and kernels can read the files that your user can read"
        return (told,) if has.filtered else (f"{told}, and change them",)
    if has.bubblewrap:
        return ()
    since = {
        RESIZES: "a build could cut short other files of your user",
        NETWORK: "a build could open TCP connections",
        SIGNALS: "a build could signal other processes of your user",
    }
    return tuple(what for version, what in since.items() if has.landlock < version)
