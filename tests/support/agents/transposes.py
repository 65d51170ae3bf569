"""What a model answers when it is asked for a faster transpose, iteration by iteration."""

from dataclasses import dataclass

from kpd.agents.reply_notes import ReplyNotes, read_notes
from kpd.model.status import Outcome, StepName
from tests.places import DATA
from tests.support.agents.prompted import TRANSPOSE
from tests.support.cassette.cassette import load

NVCC = """\
kernel.cu(21): error: invalid type conversion
              const float4 v = *reinterpret_cast<const float4>(from);
                                                 ^

1 error detected in the compilation of "kernel.cu".
"""


@dataclass(frozen=True)
class Failed:
    """A candidate that came before the one of a turn, and what was said of it."""

    source: str
    step: StepName
    message: str
    feedback: str


@dataclass(frozen=True)
class Turn:
    """An iteration: what the model answers, and what became of it."""

    source: str
    memo: str
    expected: str
    outcome: Outcome
    before: Failed | None = None

    @property
    def remarks(self) -> ReplyNotes:
        return read_notes(self.reply().splitlines()[:2])

    def reply(self, source: str = "") -> str:
        return f"MEMO: {self.memo}\nEXPECT: {self.expected}\n\n```cuda kernel.cu\n{source or self.source}```\n"


def source(name: str) -> str:
    return (DATA / "transpose" / f"{name}.cu").read_text()


def rewrites() -> tuple[Turn, ...]:
    """What a model makes of the naive transpose, one idea an iteration."""
    vectors = source("float4")
    broken = Failed(
        vectors.replace("const float4 *>(from)", "const float4>(from)"),
        "build",
        "does not build: kernel.cu(21): error: invalid type conversion",
        NVCC,
    )
    return (
        Turn(
            source("tile"),
            "[uncoalesced_store] turn a 32 x 32 tile around in shared memory, padded to 33 floats a row, so that both"
            " sides are touched in rows",
            "sectors_per_store down, gain 65 %",
            "accepted",
        ),
        Turn(
            vectors,
            "[stall_long_scoreboard] load 16 bytes a lane where the rows allow it, so that more bytes are in flight",
            "stall_long_scoreboard down, gain 8 %",
            "rejected",
            broken,
        ),
        Turn(
            source("strips"),
            "[stall_long_scoreboard, low_waves_per_sm] turn four tiles in a row with two buffers: the loads of the next"
            " one are under way while one is stored",
            "stall_long_scoreboard down, gain 6 %",
            "rejected",
        ),
        Turn(
            source("batched"),
            "[stall_long_scoreboard] tiles of 64, 16 loads a thread issued before the first is waited for",
            "dram_pct up, gain 12 %",
            "accepted",
        ),
        Turn(
            source("swizzle"),
            "[smem_bank_conflicts] XOR swizzle instead of padding: rows and columns of the tile lie in 32 banks each",
            "shared_conflict_pct down, gain 5 %",
            "rejected",
        ),
        Turn(
            source("streaming"),
            "[severe_memory_bound] mark loads and stores as streaming: nothing is read twice, so L2 need not keep it",
            "l2_hit_pct up, gain 3 %",
            "rejected",
        ),
        Turn(
            source("vectors"),
            "[smem_bank_conflicts, stall_long_scoreboard] 16 bytes a lane on both sides; columns are gathered from the"
            " tile into registers before they are stored",
            "dram_pct up, gain 6 %",
            "rejected",
        ),
        Turn(
            source("threads"),
            "[low_occupancy] 512 threads a block with 8 loads each: the same bytes in flight with fewer registers",
            "occupancy_pct up, gain 3 %",
            "rejected",
        ),
    )


def parametrised() -> tuple[str, tuple[Turn, ...]]:
    """The kernel of the task transpose_cuda, and the candidates that were recorded of it (tests/data/cassettes)."""
    cassette = load(DATA / "cassettes" / "transpose_h100")
    of = {candidate.memo: candidate.files["kernel.cu"] for candidate in cassette.candidates}
    broken = Failed(of["does_not_compile"], "build", 'does not build: kernel.cu(5): error: expected a ";"', "")
    edge = Failed(of["leaves_an_edge"], "check", "odd: out[4096] is unwritten, should be -0.3127", "")
    best, second = of["TILE=64; PAD=1; VEC=4; ROWS=16"], of["TILE=32; PAD=1"]
    first = (DATA.parent.parent / "tasks" / TRANSPOSE / "kernel.cu").read_text()
    return first, (
        Turn(second, "[uncoalesced_store] a padded tile", "sectors_per_store down, gain 70 %", "accepted"),
        Turn(best, "[stall_long_scoreboard] wider", "dram_pct up, gain 10 %", "accepted"),
        Turn(of["TILE=16; ROWS=4"], "[low_occupancy] small blocks", "occupancy_pct up, gain 5 %", "rejected"),
        Turn(second, "[smem_bank_conflicts] back to 32", "shared_conflict_pct down, gain 5 %", "rejected", broken),
        Turn(of["TILE=16; ROWS=4"], "[low_waves_per_sm] more blocks", "waves up, gain 3 %", "rejected", edge),
    )
