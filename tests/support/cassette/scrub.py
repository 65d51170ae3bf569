"""What must not get into a cassette: who recorded it, on which machine, and where its files lie there."""

import re
from collections.abc import Iterable

REPLAYED_GPU = "GPU-7265636f-7264-6564-0000-000000000000"
"""The UUID of every recorded GPU, so that none is taken for a real one: neither by a lease, nor by a run."""
LEAST = 5
"""Letters of a word that is looked for in binary data, where a shorter one could be there by chance."""
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIRECTORIES = re.compile(r"(?<![\w./])(?!(?<=:)//)/+(?:[\w.+@~-]+/+)+")


class Scrub:
    """`words` are folders, names of the machine and the user; `gpu` is the UUID of the GPU that is recorded."""

    def __init__(self, words: Iterable[str], gpu: str = "") -> None:
        self.words = sorted(set(filter(None, words)), key=len, reverse=True)
        self.gpu = gpu

    def text(self, data: bytes) -> str:
        """Without lines about other GPUs, and with paths cut to the names of their files."""
        said = data.decode(errors="replace")
        if self.gpu:
            lines = said.splitlines(keepends=True)
            said = "".join(line for line in lines if set(_UUID.findall(line)) <= {self.gpu})
            said = said.replace(self.gpu, REPLAYED_GPU)
        said = _DIRECTORIES.sub("", said)
        for word in self.words:
            said = re.sub(r"(?<!\w)" + re.escape(word) + r"(?!\w)", "recorded", said)
        return said

    def binary(self, data: bytes) -> bytes:
        """As long as it was: a report knows the length of each of its strings."""
        for word in self.words:
            raw = word.encode()
            if len(raw) >= LEAST:
                data = data.replace(raw, b"-" * len(raw))
        return data.replace(self.gpu.encode(), REPLAYED_GPU.encode()) if self.gpu else data
