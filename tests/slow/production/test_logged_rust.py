"""The Rust example observed by lines in its source, as the stand-in for CUDA has no driver that loads a library."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.production.deploy.fixing import fenced
from kpd.production.logged.blocks import BEGIN, END
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import workspace
from tests.support.production.rust_prover import CARGO, answer, prover

__all__ = ["prover", "workspace"]
pytestmark = pytest.mark.skipif(not CARGO, reason="needs cargo")

LAUNCH = "    transpose_kernel<<<grid, block>>>"
LINES = f"""{BEGIN}
#include <cstdio>
#include <cstdlib>
static void kpd_log(dim3 grid, dim3 block, int rows, int cols) {{
    static int count = 0;
    const char *path = getenv("KPD_OBSERVE_LOG");
    FILE *file = path && count++ < 10000 ? fopen(path, "a") : nullptr;
    if (file) {{
        fprintf(file, "{{\\"grid\\":[%u,%u,%u],\\"block\\":[%u,%u,%u],\\"shared\\":0,\\"scalars\\":{{\\"rows\\":%d,\\"cols\\":%d}}}}\\n",
                grid.x, grid.y, grid.z, block.x, block.y, block.z, rows, cols);
        fclose(file);
    }}
}}
{END}
"""  # noqa: E501
CALL = f"    {BEGIN}\n    kpd_log(grid, block, rows, cols);\n    {END}\n"


def test_the_second_answer_in_the_mailbox_builds_and_all_is_as_before(
    prover: Path, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    def kpd(*args: str) -> tuple[int, str, str]:
        code = main(["-w", str(workspace.root), "project", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    binary, source = prover / "target" / "release" / "prover", prover / "gpu" / "transpose.cu"
    code, told, said = kpd("check", "prover", "--normalise")
    assert binary.exists(), told + said
    before = source.read_bytes(), binary.read_bytes()
    code, _, said = kpd("observe", "prover")
    assert (code, "no process of the program left a record" in said) == (1, True)
    assert "--mailbox, or --writer WHO, has lines proposed" in said
    code, _, said = kpd("observe", "prover", "--mailbox")
    assert (code, "wants a change approved" in said) == (64, True), said  # there is no terminal

    text = source.read_text()
    good = text.replace(LAUNCH, CALL + LAUNCH).replace("extern", LINES + "extern", 1)
    broken = good.replace("fopen(", "opened(")
    assert good != broken != text
    answering = answer(workspace.root / "onboarding" / "prover.observe.mailbox", broken, good)
    code, told, said = kpd("observe", "prover", "--mailbox", "--yes")
    answering.join()
    assert code == 0, said
    assert "+    kpd_log(grid, block, rows, cols);" in said and "does not build with it: it ends with " in said
    assert (source.read_bytes(), binary.read_bytes()) == before
    table = json.loads((workspace.root / "refs" / "prover.observed.json").read_text())
    assert (table["kernel"], table["capture"]["seen_by"]) == ("transpose_kernel", "source")
    sizes = Counter(
        (one["grid_x"], one["grid_y"], one["block_x"], one["block_y"], one["rows"], one["cols"])
        for one in table["launches"]
    )
    assert set(sizes) == {(2, -(-rows // 32), 32, 8, rows, 64) for rows in (2, 4, 8, 16, 32, 64)}
    assert len(set(sizes.values())) == 1, "a proof halves its rows, and each has all sizes"
    assert "! observed by lines in the source: it has no durations" in told
    assert fenced(text.rstrip(), "cuda gpu/transpose.cu") in (
        workspace.root / "onboarding" / "prover.observe.mailbox" / "prompt.md").read_text()  # fmt: skip
    code, told, said = kpd("observe", "prover")
    assert (code, "is current" in said) == (0, True), said
