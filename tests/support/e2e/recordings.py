"""Where the recordings of a GPU lie."""

from tests.places import DATA

RECORDINGS = DATA / "recordings"
TASK = "transpose_cuda"
