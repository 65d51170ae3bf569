"""Reads NVIDIA's own advice: each piece once, the largest saving first, with kpd's matching finding."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kpd.model.profiles import Advice
from kpd.profile.ncu.launches import ProfiledLaunch, VendorAdvice
from kpd.text.foreign import plain

LONGEST = 700
"""The most characters of one piece. NVIDIA's longest have about 600."""
MOST = 40
_LEVELS = {"OPT": 0, "WRN": 1, "INF": 2}

_MARKUP = re.compile(r"@(?P<kind>section|url|source|sass):(?P<rest>[^@]*)@")
_LINK = re.compile(r" ?\(https?://[^\s()]*\)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_OURS = re.compile(r"^The optional metric \S+ could not be found|^Check the .* table for the top stall locations")
"""Messages that appear because kpd collects few metrics, or that refer to tables in ncu's own window."""

SAME: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CPIStall", r"scoreboard dependency on an? L1TEX", ("stall_long_scoreboard",)),
    ("CPIStall", r"scoreboard dependency on an? MIO", ("stall_short_scoreboard", "smem_bank_conflicts")),
    ("CPIStall", r"MIO \(memory input/output\) instruction queue", ("stall_mio_throttle",)),
    ("CPIStall", r"execution pipe to be available", ("stall_math_pipe",)),
    ("CPIStall", r"CTA barrier", ("stall_barrier",)),
    ("CPIStall", r"fixed latency", ("stall_wait",)),
    ("CPIStall", r"memory barrier", ("stall_membar",)),
    ("CPIStall", r"after EXIT", ("uncoalesced_store",)),
    ("CPIStall", r"local and global \(LG\)", ("poor_coalescing", "uncoalesced_store", "local_memory")),
    ("SOLBottleneck", r"Memory is more heavily|DRAM", ("severe_memory_bound",)),
    (
        "SOLBottleneck",
        r"analyzing L[12]",
        ("uncoalesced_store", "poor_coalescing", "low_l1_hit", "severe_memory_bound"),
    ),
    ("SOLBottleneck", r"Compute is more heavily|[Cc]ompute [Ww]orkload", ("near_peak_compute",)),
    ("SOLBottleneck", r"grid is too small", ("low_waves_per_sm", "launch_bound")),
    ("SOLBottleneck", r"latency issues", ("low_ipc", "stall_long_scoreboard", "launch_bound")),
    ("TheoreticalOccupancy", r"registers", ("register_limited", "low_occupancy")),
    ("TheoreticalOccupancy", r"", ("low_occupancy",)),
    ("AchievedOccupancy", r"", ("low_occupancy",)),
    ("SharedMemoryConflicts", r"", ("smem_bank_conflicts",)),
    ("UncoalescedSharedAccess", r"", ("smem_bank_conflicts",)),
    ("MemoryCacheAccessPattern", r"global stores", ("uncoalesced_store",)),
    ("MemoryCacheAccessPattern", r"global loads", ("poor_coalescing",)),
    ("MemoryCacheAccessPattern", r"local", ("local_memory", "register_spill")),
    ("MemoryCacheAccessPattern", r"L2", ("low_l2_hit", "poor_coalescing", "uncoalesced_store")),
    ("UncoalescedGlobalAccess", r"", ("poor_coalescing", "uncoalesced_store")),
    ("LaunchConfiguration", r"partial wave", ("tail_effect",)),
    ("LaunchConfiguration", r"fewer (?:thread )?blocks|less than the GPU|multiprocessors", ("low_waves_per_sm",)),
    ("IssueSlotUtilization", r"", ("low_ipc", "stall_long_scoreboard")),
    ("HighPipeUtilization", r"under-utilized", ("low_ipc",)),
    ("HighPipeUtilization", r"over-utilized|highest-utilized", ("near_peak_compute", "stall_math_pipe")),
)
"""A rule of ncu, a pattern of its message, and kpd's rules that say the same. The first match decides."""


def read(by_case: Mapping[str, Sequence[ProfiledLaunch]], weights: Mapping[str, float]) -> tuple[Advice, ...]:
    """Collect the advice of all launches, the best first. Pieces that differ only in numbers are merged.

    Of those the text of the weightiest case is kept. A global estimate is a share of the time, and such pieces come
    before all others. A local estimate cannot be summed over the cases: it is the one of the weightiest case.
    """
    pieces: dict[tuple[str, str, str], list[tuple[str, VendorAdvice]]] = {}
    for case, said in _said(by_case):
        pieces.setdefault((said.rule, said.level, _NUMBER.sub("#", said.text)), []).append((case, said))
    found = []
    for said_of in pieces.values():
        _, first = max(said_of, key=lambda one: (weights.get(one[0], 0.0), one[1].speedup_pct or 0.0))
        named = tuple(dict.fromkeys(case for case, _ in said_of if case))
        saved = _saved(said_of, weights)
        speedup, scope = (first.speedup_pct, first.scope) if saved is None else (saved, "global")
        speedup = speedup if speedup is None else round(speedup, 1)
        found.append(Advice(first.rule, first.level, first.text, speedup, named, scope=scope))
    return tuple(sorted(found, key=_rank)[:MOST])


def _saved(said_of: Sequence[tuple[str, VendorAdvice]], weights: Mapping[str, float]) -> float | None:
    """Compute the share of the time, in percent, that a piece promises to save; None where it promises none.

    An estimate is a share of one launch's time. The result is the mean over all cases, weighted by their time; a case
    without the piece counts as zero.
    """
    whole = sum(weights.values()) or 1.0
    best: dict[str, float] = {}
    for case, said in said_of:
        if said.scope == "global" and said.speedup_pct is not None:
            best[case] = max(best.get(case, 0.0), said.speedup_pct)
    return sum(gain * weights.get(of, whole) for of, gain in best.items()) / whole if best else None


def marked(advice: Iterable[Advice], fired: Collection[str]) -> tuple[Advice, ...]:
    """Add to each piece the id of kpd's finding that says the same, if one has fired."""
    return tuple(replace(piece, agrees=same(piece, fired)) for piece in advice)


def same(piece: Advice, fired: Collection[str]) -> str:
    """Find the rule of kpd, among those that have `fired`, that says what the advice does; empty when there is none."""
    for rule, words, ours in SAME:
        if rule == piece.rule and re.search(words, piece.text):
            return next((id for id in ours if id in fired), "")
    return ""


def clean(text: str) -> str:
    """Turn a message into plain text on one line; of ncu's links and names of sections only the words stay."""
    return plain(_LINK.sub("", _MARKUP.sub(_words, text)), LONGEST)


def _words(markup: re.Match[str]) -> str:
    """Return the words of a mark-up: `url:words:address`, else `kind:place:words`.

    The place in a source has a line number, too.
    """
    first, _, rest = markup["rest"].partition(":")
    if markup["kind"] == "url":
        return first
    return rest.rpartition(":")[2] if markup["kind"] == "source" else rest


def _said(by_case: Mapping[str, Sequence[ProfiledLaunch]]) -> Iterator[tuple[str, VendorAdvice]]:
    for case, launches in by_case.items():
        for launch in launches:
            for said in launch.advice:
                text = clean(said.text)
                if text and not _OURS.search(text):
                    yield case, replace(said, rule=plain(said.rule, 60), text=text)


def _rank(piece: Advice) -> tuple[bool, float, int]:
    return (piece.scope != "global", -(piece.speedup_pct or 0.0), _LEVELS[piece.level])
