"""How a project compiles its kernel: folders of headers, macros, instances of templates; and how far a case is off."""

from pathlib import Path

import pytest

from kpd.onboarding.build_context import build_context
from kpd.onboarding.facts import KernelFacts, findings
from kpd.onboarding.folder import files
from kpd.onboarding.observed import ObservedError, parse_table
from kpd.onboarding.preprocess import SourceError, preprocess
from kpd.onboarding.prompt import user
from kpd.onboarding.standalone import Gap, gaps
from kpd.onboarding.verify import problems
from tests.support.onboarding.kernels import GOOD, sources
from tests.support.onboarding.observed import table

HASH = """\
#include <field.cuh>
template <int ROUNDS> __global__ void hash(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] % PRIME + ROUNDS + field(i);
}
void launch(const unsigned *in, unsigned *out, int n) { hash<8><<<(n + 127) / 128, WIDE>>>(in, out, n); }
"""
HARNESS = """\
#include "kpd_task.h"
static const kpd_case cases[] = {{"top1", {128}, KPD_CHECK_AND_TIME, {1}, {128}}};
static void call(const kpd_case *c, void *const *d, cudaStream_t s) {
    hash<@N@><<<kpd_dim3(c->grid), kpd_dim3(c->block), 0, s>>>((unsigned *)d[0], (unsigned *)d[1], (int)c->dims[0]);
}
const kpd_task_t kpd_task = {"hash", {"n"}, cases, 1, 2, buffers, fill, oracle, call};
"""


def hashing(folder: Path, template: str = "<(int)8>") -> KernelFacts:
    (folder / "gpu").mkdir()
    (folder / "gpu" / "field.cuh").write_text("#pragma once\n__device__ int field(int i) { return i; }\n")
    (folder / "hash.cu").write_text(HASH)
    launches = {"grid_x": 1, "block_x": 128, "n": 128, "duration_us": 2.0}
    text = table(launches, capture={"template": template}).replace(b'"k"', b'"hash"')
    (folder / "hash.observed.json").write_bytes(text)
    built = build_context(["-Igpu", "-DPRIME=97u", "-D", "WIDE=128", "-UODD", "-std=c++20"], folder)
    return findings(folder / "hash.cu", folder / "hash.cu", folder / "hash.observed.json", 5, built)


def test_flags_are_folders_macros_and_the_rest() -> None:
    words = ["-Ia", "-I", "b", "--include-path=c", "-isystem", "d", "-DX", "-DY=1 + 2", "-D", "Z=", "-UW", "-O2"]
    found = build_context(words, Path("/root"))
    assert found.folders == tuple(Path("/root") / name for name in "abcd")
    assert found.macros == ("#define X 1", "#define Y 1 + 2", "#define Z", "#undef W")
    assert found.flags == ("-O2",)


@pytest.mark.parametrize("words", [["-I"], ["-DF(x)=x"], ["-DX=1\n#include <a>"], ["-U1"]])
def test_flags_that_say_nothing_plain_are_refused(words: list[str]) -> None:
    with pytest.raises(SourceError):
        build_context(words)


def test_headers_of_the_project_s_folders_stand_in_the_source_and_its_macros_before_it(tmp_path: Path) -> None:
    facts = hashing(tmp_path)
    text = facts.prepared.text
    assert text.startswith("#define PRIME 97u\n#define WIDE 128\n#undef ODD\n// from field.cuh\n")
    assert "field.cuh>" not in text and facts.prepared.external == ()
    assert facts.sites[0].block.size == (128, 1, 1)
    assert b'[build]\nflags = ["-std=c++20"]\n' in files("h", facts, b"")["task.toml"]
    assert b'truth = "baseline"' in files("h", facts, b"", "baseline")["task.toml"]


def test_a_header_of_the_system_is_left_to_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "math.h").write_text("mine\n")
    (tmp_path / "k.cu").write_text("#include <math.h>\n")
    assert preprocess(tmp_path / "k.cu").text == "#include <math.h>\n"
    assert preprocess(tmp_path / "k.cu", (tmp_path,)).text == "// from math.h\nmine\n\n"


def test_the_instance_that_the_binary_has_is_the_one_to_launch(tmp_path: Path) -> None:
    facts = hashing(tmp_path)
    assert "The program launches `hash<(int)8>`" in user(facts)
    assert problems(facts, HARNESS.replace("@N@", "8")) == []
    assert problems(facts, HARNESS.replace("@N@", "4")) == [
        "harness:4: launches hash<4>, but the program launches hash<(int)8>"
    ]


@pytest.mark.parametrize("template", ["<(bool)1>", "<true>"])
@pytest.mark.parametrize("written", ["true", "1", "(bool)1"])
def test_a_truth_value_is_the_same_however_it_is_written(tmp_path: Path, template: str, written: str) -> None:
    assert problems(hashing(tmp_path, template), HARNESS.replace("@N@", written)) == []


def test_the_instance_is_told_as_code_that_compiles(tmp_path: Path) -> None:
    assert "launches `hash<unsigned int>`" in user(hashing(tmp_path, "<unsigned int>"))


@pytest.mark.parametrize("template", ["<8>\n# now obey", "8", "<" + "x" * 502 + ">"])
def test_a_template_that_is_no_list_of_arguments_is_refused(template: str) -> None:
    with pytest.raises(ObservedError, match="'template'"):
        parse_table(table({"grid": 1, "block": 1}, capture={"template": template}))


@pytest.mark.parametrize(
    ("alone", "target", "far"), [(1.0, 3.0, False), (1.0, 3.0001, True), (3.0001, 1.0, True), (2.0, 1.0, False)]
)
def test_a_factor_above_three_in_either_direction_is_a_problem(alone: float, target: float, far: bool) -> None:
    gap = Gap("top1", alone, target)
    assert gap.is_far == far == ("PROBLEM" in gap.told)


def test_gaps_are_those_of_configurations_with_a_time_in_production(tmp_path: Path) -> None:
    assert gaps(hashing(tmp_path), {"top1": 1.0, "small": 9.0}) == (Gap("top1", 1.0, 2.0),)
    given = sources(tmp_path / "rows")
    facts = findings(given.kernel, given.wrapper, given.observed, 5)
    assert gaps(facts, {"top1": 1.0}) == ()
    assert problems(facts, GOOD) == []
