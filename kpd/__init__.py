"""kpd: a daemon and terminal UI that optimise compute kernels on machines behind SSH."""

__version__ = "0.1.0"
