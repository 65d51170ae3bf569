"""Runs kpd as `python -m kpd`."""

import sys

from kpd.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
