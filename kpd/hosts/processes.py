"""Identifies processes of this machine, with the helper's code."""

from kpd.hosts.helper.processes import exists, folder_of, parent_of, terminal_of

__all__ = ["exists", "folder_of", "parent_of", "terminal_of"]
