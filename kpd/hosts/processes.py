"""Processes of this machine, as the helper tells them apart."""

from kpd.hosts.helper.processes import exists

__all__ = ["exists"]
