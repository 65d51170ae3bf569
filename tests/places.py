"""Where the tests find the tree, and what they are given to read."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent  # of the checkout
DATA = TESTS / "data"
