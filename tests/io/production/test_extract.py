"""The sources of a project, brought here from its host."""

from pathlib import Path

import pytest

from kpd.onboarding.preprocess import MOST_BYTES, SourceError
from kpd.production.extract import bring, here
from tests.support.production.provers import made, place_at


async def test_a_source_is_brought_whole_or_refused(tmp_path: Path) -> None:
    root = tmp_path / "program"
    project = made(root, b'#include "big.h"\n')
    header = root / "src" / "big.h"
    header.write_bytes(b"/" * MOST_BYTES)
    async with place_at(project, tmp_path) as place:
        home = tmp_path / "home"
        brought = await bring(place, home)
        assert brought.texts == {"src/kernel.c": '#include "big.h"\n'}
        assert here(home, str(header.resolve())).stat().st_size == MOST_BYTES
        header.write_bytes(b"/" * (MOST_BYTES + 1))
        with pytest.raises(SourceError, match=r"big\.h: larger than 1 MiB"):
            await bring(place, home)
        header.unlink()
        assert (await bring(place, tmp_path / "other")).texts == brought.texts


@pytest.mark.parametrize("path", ["../../escaped", "/../../escaped", "//x/../../../escaped", "x/../../../escaped"])
def test_no_path_of_a_host_leaves_the_folder(path: str) -> None:
    assert here(Path("/home/it"), path) == Path("/home/it/escaped")
