"""A program that prints its figures in sentences: what is read of them, and what is asked."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kpd.imports.bringing import bring, read_benchmark
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, Unclear
from kpd.imports.reading import understand
from kpd.workspace.task import load_task
from tests.support.imports.folders import written

MAIN = '#include <stdio.h>\nint main(void) { printf("time: %.3f ms\\n", 1.5); return 0; }\n'
FILES = {"main.c": MAIN, "scale.c": "void scale(void) {}\n", "Makefile": "all: main\nmain: main.c\n\tcp said main\n"}


def said(tmp_path: Path, text: str) -> dict[str, Any]:
    """Return what the made program prints of what a program has printed."""
    found = bring(written(tmp_path / "a", FILES), tmp_path / "b", "one", Answers())
    script = f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n"
    (found.folder / "said").write_text(script)
    (found.folder / "said").chmod(0o755)
    done = subprocess.run([sys.executable, "kpd_bench.py"], cwd=found.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("best time: 0.385 ms (21.77 GB/s)", {"best_time_ms": 0.385, "gbps": 21.77}),
        ("n = 4096\nkernel took 12 us", {"kernel_took_us": 12.0}),
        ("GEMM 1.5e2 GFLOP/s, 3 seconds", {"gemm_gflops": 150.0, "s": 3.0}),
        ("run: 2 ms\nrun: 3 ms", {"run_ms": 2.0, "run_2_ms": 3.0}),
        ("checksum: 6.29e+06\nverification: PASSED", {"checksum": "6.29e+06", "verdict": "PASSED"}),
        ("*** FAILED ***", {"verdict": "FAILED"}),
        ("verification: FAILED (4080 of 4096 differ)", {"verdict": "FAILED"}),
        ("Test passed, 3 cases", {"verdict": "passed"}),
        ("512: max error 0.5, FAILED", {"verdict": "FAILED"}),
        ("result = PASS\nresult = FAIL\nresult = PASS", {"verdict": ["PASS", "FAIL", "PASS"]}),
        ("tests FAILED: 0, 0 FAILED", {}),
        ("status: running on 2 CPUs", {}),
        ("the test may be wrong at times, 3 sections, 4 msgs", {}),
    ],
)
def test_figures_with_units_are_read(tmp_path: Path, text: str, result: dict[str, Any]) -> None:
    assert said(tmp_path, text) == result


def test_the_only_figure_in_a_unit_is_the_score() -> None:
    found = understand(json.dumps({"kernel_took_us": 12.0, "n": 3}), (), {}, Answers())
    assert (found.score, found.direction) == ("kernel_took_us", "lower")
    with pytest.raises(Unclear, match="which number of the result"):
        understand(json.dumps({"kernel_took_us": 12.0, "copy_took_us": 3.0}), (), {}, Answers())
    assert understand(json.dumps({"copy_gbps": 12.0}), (), {}, Answers()).direction == "higher"


def test_a_checksum_is_pinned(tmp_path: Path) -> None:
    found = bring(written(tmp_path / "a", FILES), tmp_path / "b", "one", Answers())
    (found.folder / "said").write_text("#!/bin/sh\necho time: 4 ms\necho checksum = 12.50\n")
    (found.folder / "said").chmod(0o755)
    read_benchmark(found, Answers())
    verdict = load_task(found.folder).bench.verdict
    assert verdict is not None and (verdict.key, verdict.good) == ("checksum", ("12.50",))
    assert any("to the last digit" in weak for weak in found.draft.weak)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"scale.c": ""}, "which files may a candidate change"),
        ({"Makefile": "all: clean\nclean:\n\trm -f main\n"}, "no target that is a program"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, files: dict[str, str], told: str) -> None:
    given = {path: text for path, text in {**FILES, **files}.items() if text}
    with pytest.raises(ImportRefused, match=told):
        bring(written(tmp_path / "a", given), tmp_path / "b", "one", Answers())


def test_a_figure_without_a_unit_is_no_sign(tmp_path: Path) -> None:
    plain = {**FILES, "main.c": '#include <stdio.h>\nint main(void) { printf("%d items\\n", 3); }\n'}
    with pytest.raises(ImportRefused, match="none of the formats"):
        bring(written(tmp_path / "a", plain), tmp_path / "b", "one", Answers())


def test_a_long_table_in_a_source_costs_little(tmp_path: Path) -> None:
    """Patterns run over foreign text: none may take longer than that is long."""
    table = "int main(void) { static int t[] = {" + "1<<2, " * 20_000 + "}; return t[0]; }\n"
    begun = time.process_time()
    with pytest.raises(ImportRefused, match="none of the formats"):
        bring(written(tmp_path / "a", {**FILES, "main.c": table}), tmp_path / "b", "one", Answers())
    assert time.process_time() - begun < 10, "minutes, with a pattern that is cubic"
