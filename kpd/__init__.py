"""kpd: a daemon and terminal UI that optimise compute kernels on machines behind SSH."""

__version__ = "0.2.0.dev0"
