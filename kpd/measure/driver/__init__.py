"""Checks and times with kpd's driver, a program on the host, in the same way for every language."""
