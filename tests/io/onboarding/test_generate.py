"""A task from a production kernel, with a scripted model service: right at once, right at last, never, and hostile."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.claude.errors import OverBudget, Unavailable
from kpd.cli.diagnosis import problems as task_problems
from kpd.onboarding.generate import GivenUp
from kpd.onboarding.preprocess import SourceError
from kpd.workspace import sections
from kpd.workspace.task import load_task
from tests.support.claude.anthropic_server import Held, Reply
from tests.support.onboarding.generate import compilers, workshop
from tests.support.onboarding.kernels import FLAT, GOOD, KERNEL, LAUNCHES, fenced, sources


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


async def test_a_right_answer_becomes_a_task_that_is_accepted(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(GOOD))]) as shop:
        folder = await shop.make()
    assert folder == tmp_path / "tasks" / "rows"
    assert shop.left == ["rows"]
    task = load_task(folder)
    assert (task.language, task.editable, task.sectioned) == ("cuda", ("row_scale.cu",), "row_scale.cu")
    assert task.weights == {config.name: pytest.approx(config.share, abs=1e-4) for config in shop.facts.configs}
    assert task_problems(folder) == []
    whole = sections.split((folder / "row_scale.cu").read_bytes())
    assert whole.kernel.decode() == shop.facts.prepared.text
    assert GOOD in whole.after.decode()
    assert "| top1 | 128 × 1 × 1 | 32 × 8 × 1 | 75.0% |" in (folder / "task.md").read_text()
    assert (shop.purse.spend.calls, shop.purse.spend.unpriced) == (1, 0)
    assert shop.purse.spend.usd > 0


async def test_the_question_has_the_facts_and_the_contract(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(GOOD))]) as shop:
        await shop.make()
    [asked] = shop.server.asked
    assert "kpd_fill_bf16" in asked.system[0]
    assert asked.body["system"][0]["cache_control"] == {"type": "ephemeral"}
    [user] = asked.turns
    for wanted in (
        "block {32, 8, 1} (256 threads)",
        "OBSERVED: height = 32768, width = 64, factor = 2.0",
        "int height: role A, it bounds the threads that have work",
        "int width: role B, it bounds a loop that each thread runs",
        "__launch_bounds__((kWidth * kRows) = 256)",
        shop.facts.prepared.text,
    ):
        assert wanted in user


async def test_a_wrong_geometry_goes_back_with_what_is_expected(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(FLAT)), Reply(fenced(GOOD))]) as shop:
        folder = await shop.make()
    assert load_task(folder).name == "rows"
    again = shop.server.asked[1].turns[0]
    for wanted in (
        "case top1 has dim3(32, 1, 1) = 32 threads a block, expected dim3(32, 8, 1) = 256 threads a block",
        "case odd has dim3(32, 1, 1)",
        FLAT,
    ):
        assert wanted in again
    assert shop.server.asked[0].system == shop.server.asked[1].system
    assert shop.purse.spend.calls == 2


async def test_never_right_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(FLAT))] * 3) as shop:
        with pytest.raises(GivenUp, match=r"after 3 answers.*expected dim3\(32, 8, 1\)"):
            await shop.make()
    assert shop.left == []
    assert len(shop.server.asked) == 3
    assert shop.purse.spend.calls == 3


DOUBLING = "#define A0 1\n" + "".join(f"#define A{i} A{i - 1} + A{i - 1}\n" for i in range(1, 40))
BRACKETS = f"{{{'(' * 9000}1{')' * 9000}}}"
WRONG = {
    "no block": ("I cannot see the kernel.", "0 fenced blocks"),
    "two blocks": (fenced(GOOD) + fenced(GOOD), "2 fenced blocks"),
    "a block that does not end": (fenced(GOOD)[:-4], "line 3"),
    "a kernel section of its own": (
        fenced("// ===== KERNEL SECTION =====\n// ===== END KERNEL SECTION =====\n" + GOOD),
        "section's mark",
    ),
    "an end to its section": (fenced(GOOD + "// ===== END HARNESS SECTION =====\nint x;\n"), "section's mark"),
    "a kernel of its own": (fenced(GOOD + "__global__ void k() {}\n"), "stand in the kernel section"),
    "a program started": (fenced(GOOD.replace("kpd_fill(", 'system("id"); kpd_fill(')), "starts no program"),
    "a program started, hidden": (fenced(GOOD.replace("kpd_fill(", 'sys\\\ntem("id"); kpd_fill(')), "hidden way"),
    "a program started, pasted": (fenced("#define GLUE(a, b) a##b\n" + GOOD), "has ## in a directive"),
    "a file read": (fenced('#include "/etc/passwd"\n' + GOOD), "includes what a harness has no need of"),
    "a file read by a macro": (fenced('#define H "/etc/passwd"\n#include H\n' + GOOD), "includes what"),
    "a file read by the assembler": (fenced(GOOD + 'asm(".incbin \\"/etc/passwd\\"");\n'), "a harness needs none"),
    "a directive in another spelling": (fenced('%:include "/etc/passwd"\n' + GOOD), "hidden way"),
    "lines counted anew": (fenced('#line 1 "kernel.cu"\n' + GOOD), "#line"),
    "no cases": (fenced("int x;\n"), "write one table"),
    "a case that is not there": (fenced(GOOD.replace('"top2"', '"second"')), "there is no case named top2"),
    "a case that is not timed": (
        fenced(GOOD.replace("16}, KPD_CHECK_AND_TIME", "16}, KPD_CHECK_ONLY")),
        "must be timed",
    ),
    "nothing checked": (
        fenced(GOOD.replace("CHECK_AND_TIME", "TIME_ONLY").replace("CHECK_ONLY", "TIME_ONLY")),
        "no case is",
    ),
    "other work": (fenced(GOOD.replace("{32768, 64}", "{32768, 1}")), "width = 1, but 64 was observed"),
    "roles exchanged": (fenced(GOOD.replace("{32768, 64}", "{64, 32768}")), "height = 64, but 32768 was observed"),
    "a dim without its name": (fenced(GOOD.replace('"height", "width"', '"n", "m"')), "height (role A) must be a dim"),
    "another grid": (
        fenced(GOOD.replace("kpd_dim3(c->grid)", "2 * c->grid[0]")),
        "a grid of 256 x 1 x 1, expected 128",
    ),
    "a grid in the table": (fenced(GOOD.replace("{128}", "{64}")), "a grid of 64 x 1 x 1, expected 128 x 1 x 1"),
    "a block in the table": (fenced(GOOD.replace("{128}, {32, 8}", "{128}, {256}")), "dim3(256, 1, 1) = 256"),
    "a block of a check": (fenced(GOOD.replace("{2}, {32, 8}", "{2}, {8, 8}")), "case odd has dim3(8, 8, 1) = 64"),
    "kpd_dim3 made another": (fenced("#define kpd_dim3(x) dim3(64)\n" + GOOD), "dim3(64, 1, 1) = 64"),
    "a geometry that cannot be told": (
        fenced(GOOD.replace("kpd_dim3(c->block)", "pick(c)")),
        "the geometry cannot be told for case top1",
    ),
    "no launch": (fenced(GOOD.replace("prover::row_scale<<<", "other<<<")), "nothing launches prover::row_scale"),
    "a launch of who knows what": (
        fenced(GOOD.replace("prover::row_scale<<<", "(*table[0])<<<")),
        "launch prover::row_scale by its name",
    ),
    "a control character": (fenced(GOOD.replace("enum {", "enum\x1b[2J {")), "U+001B"),
    "far too much": (fenced(GOOD + "/" * 280_000 + "\n"), "characters"),
    "macros without end": (fenced(DOUBLING + GOOD + "int x = A39;\n"), "tokens"),
    "brackets without end": (fenced(GOOD.replace("{128}", BRACKETS)), "nested too deeply"),
}


@pytest.mark.parametrize(("reply", "why"), WRONG.values(), ids=WRONG)
async def test_a_reply_that_cannot_be_used_is_refused_with_the_reason(reply: str, why: str, tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(reply, chunk=65_536)]) as shop:
        shop.asks(max_tokens=128_000)
        before = everything(tmp_path)
        with pytest.raises(GivenUp) as refused:
            await shop.make(tries=1)
    assert why in refused.value.message
    assert everything(tmp_path) - before == {"spending.jsonl", "tasks"}


async def test_a_refusal_is_not_asked_again(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply("no", stop="refusal")] * 3) as shop:
        with pytest.raises(GivenUp, match="declines"):
            await shop.make()
        assert len(shop.server.asked) == 1
    assert shop.left == []


async def test_the_limit_holds(tmp_path: Path) -> None:
    async with workshop(tmp_path, [Reply(fenced(FLAT))] * 3, limit_usd=0.001) as shop:
        with pytest.raises(OverBudget, match=r"\$0.00 of the \$0.00 for the run are spent"):
            await shop.make()
        assert shop.server.asked == []
    assert shop.left == []


@pytest.mark.parametrize("limit_usd", [5.0, 0.0])
async def test_a_model_without_a_price_needs_no_limit(tmp_path: Path, limit_usd: float) -> None:
    async with workshop(tmp_path, [Reply(fenced(GOOD))], limit_usd=limit_usd) as shop:
        shop.server.models.add("own-model")
        shop.asks(model="own-model")
        if limit_usd:
            with pytest.raises(Unavailable, match="price is not known"):
                await shop.make()
            return
        await shop.make()
        assert (shop.purse.spend.calls, shop.purse.spend.unpriced) == (1, 1)


async def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with workshop(tmp_path, [Held(release, text=fenced(GOOD))]) as shop:
        under_way = asyncio.create_task(shop.make())
        await shop.server.wait_for(1)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        release.set()
    assert shop.left == []


async def test_a_name_that_is_taken_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "rows").mkdir(parents=True)
    async with workshop(tmp_path, [Reply(fenced(GOOD))]) as shop:
        with pytest.raises(Exception, match="is there already"):
            await shop.make()
        assert shop.server.asked == []


async def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    def script(asked: object) -> Reply:
        other = tmp_path / "tasks" / "rows"
        other.mkdir()
        (other / "task.toml").write_text("somebody's")
        return Reply(fenced(GOOD))

    async with workshop(tmp_path, script) as shop:
        with pytest.raises(Exception, match="cannot be made"):
            await shop.make()
    assert shop.left == ["rows"]
    assert (tmp_path / "tasks" / "rows" / "task.toml").read_text() == "somebody's"


async def test_a_contradiction_costs_nothing(tmp_path: Path) -> None:
    launches = [{**LAUNCHES[0], "block_x": 64}]
    async with workshop(tmp_path, [], sources(tmp_path / "project", launches=launches)) as shop:
        with pytest.raises(SourceError, match="observed grid 128 x 1 x 1, block 64 x 1 x 1"):
            await shop.make()
        assert shop.server.asked == []


LAUNCHER = """
void launch_rows(const float *in, float *out, int height, int width, float factor, cudaStream_t stream) {
    const dim3 block(prover::kWidth, prover::kRows);
    prover::row_scale<<<(height + 255) / 256, block, 0, stream>>>(in, out, height, width, factor, prover::Bias{1.0f});
}
"""


async def test_a_launcher_in_the_kernels_own_source_may_be_called(tmp_path: Path) -> None:
    start, end = GOOD.index("    prover::row_scale"), GOOD.index("}\n\nconst kpd_task_t")
    arguments = "(const float *)device[IN], (float *)device[OUT], (int)c->dims[0], (int)c->dims[1], factor(c), stream"
    calls = f"{GOOD[:start]}    launch_rows({arguments});\n{GOOD[end:]}"
    forgets = f"{GOOD[:start]}{GOOD[end:]}"
    given = sources(tmp_path / "project", kernel=KERNEL + LAUNCHER)
    given = replace(given, wrapper=given.kernel)
    async with workshop(tmp_path, [Reply(fenced(forgets)), Reply(fenced(calls))], given) as shop:
        folder = await shop.make()
    assert "nothing launches prover::row_scale" in shop.server.asked[1].turns[0]
    assert load_task(folder).sectioned == "row_scale.cu"


@pytest.mark.parametrize("nvcc", compilers())
async def test_a_kernel_that_does_not_compile_alone_costs_nothing(nvcc: str, tmp_path: Path) -> None:
    kernel = KERNEL.replace("biased(in", "unheard_of(in")
    async with workshop(tmp_path, [], sources(tmp_path / "project", kernel=kernel), nvcc) as shop:
        with pytest.raises(SourceError, match="unheard_of"):
            await shop.make()
        assert shop.server.asked == []
    assert shop.left == []


async def test_an_answer_without_end_is_asked_for_again(tmp_path: Path) -> None:
    endless = [Reply("x" * 200_000, chunk=10_000)] * 5
    async with workshop(tmp_path, [*endless, Reply(fenced(GOOD))]) as shop:
        await shop.make()
    assert shop.left == ["rows"]
    assert "too long" in shop.server.asked[-1].turns[0]
