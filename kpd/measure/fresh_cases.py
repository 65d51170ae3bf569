"""Defines what an audit on fresh inputs measures of a case: batches, whose they are, and how two audits are joined."""

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class Rows:
    """Batches of so many `calls` that follow one another as in a contest, each on fresh inputs of its own.

    `compared` of B's calls were compared with the truth. A's and B's of one number had the same inputs.
    """

    calls: int
    compared: int
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FreshCase:
    """Batches of a case, each of `reps` calls on inputs of their own: A's and B's of one pair came in random order.

    `compared` of B's batches were compared with the truth. `anew`: the harness filled all inputs of each call; else its
    elements were put into another order. In the swapped batches, which came before, inputs hardly changed, as in a
    contest; all else was the same (callables and older samples lack them). `taken` are the pairs of each process, where
    there were several, `swapped_taken` those of swapped ones. The driver's own clock passed by so much from asking for
    a call to hearing of its end. A batch took `request_ns` besides, which are taken off its time, but no more than half
    of it. `apart`: each kernel had a process of its own, and the driver's clock is the only one. `rows` were taken
    besides, on a GPU, where one by one some of a gain was missing and a contest has calls in a row.
    """

    reps: int
    compared: int
    anew: bool
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]
    swapped_a_ns: tuple[int, ...] = ()
    swapped_b_ns: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    a_passed_ns: tuple[int, ...] = ()
    b_passed_ns: tuple[int, ...] = ()
    swapped_taken: tuple[int, ...] = ()
    request_ns: int = 0
    apart: bool = False
    rows: Rows | None = None

    @property
    def separate(self) -> bool:
        """Whether each kernel had a process of its own."""
        return self.apart or bool(self.b_passed_ns)


def parts_of(case: FreshCase) -> list[FreshCase]:
    """Return the pairs of each process."""
    fresh, swapped = (
        pairwise([0, *accumulate(taken)]) for taken in (case.taken, case.swapped_taken or (0,) * len(case.taken))
    )
    return [
        replace(
            case, taken=(), swapped_taken=(), a_ns=case.a_ns[a:b], b_ns=case.b_ns[a:b],
            a_passed_ns=case.a_passed_ns[a:b], b_passed_ns=case.b_passed_ns[a:b],
            swapped_a_ns=case.swapped_a_ns[c:d], swapped_b_ns=case.swapped_b_ns[c:d],
        )
        for (a, b), (c, d) in zip(fresh, swapped, strict=True)
    ]  # fmt: skip


def joined_cases(one: FreshCase, other: FreshCase) -> FreshCase:
    """Return the batches of two audits, each of processes of its own."""
    return FreshCase(
        one.reps, one.compared + other.compared, one.anew and other.anew, one.a_ns + other.a_ns, one.b_ns + other.b_ns,
        one.swapped_a_ns + other.swapped_a_ns, one.swapped_b_ns + other.swapped_b_ns,
        (*(one.taken or (len(one.a_ns),)), *(other.taken or (len(other.a_ns),))),
        one.a_passed_ns + other.a_passed_ns, one.b_passed_ns + other.b_passed_ns,
        (*(one.swapped_taken or (len(one.swapped_a_ns),)), *(other.swapped_taken or (len(other.swapped_a_ns),))),
        max(one.request_ns, other.request_ns), one.apart and other.apart,
        _joined_rows(one.rows, other.rows) if one.rows and other.rows else one.rows or other.rows,
    )  # fmt: skip


def _joined_rows(one: Rows, other: Rows) -> Rows:
    """Return the rows of two audits: A's and B's of one number have as many calls."""
    calls = min(one.calls, other.calls)
    return Rows(calls, one.compared + other.compared, one.a_ns + other.a_ns, one.b_ns + other.b_ns)
