"""Where the cassettes of a GPU lie."""

from tests.places import DATA

CASSETTES = DATA / "cassettes"
TASK = "transpose_cuda"
