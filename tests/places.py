"""Where the tests find the tree, and what they are given to read."""

import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent  # of the checkout
DATA = TESTS / "data"
SCRATCH = str(Path(tempfile.gettempdir()).resolve())
# What the stand-in for nvcc, and tools that tests make, need inside a sandbox.
READS = (str(ROOT), sys.prefix, sys.base_prefix, SCRATCH)
OPEN = 'reads = ["/"]\nwrites = ["/"]\n'  # in the table of a host whose programs are scripts of the tests
WRITES = (str(ROOT / ".pytest_cache"), SCRATCH)
