"""Restoring a change, whatever has happened before and whatever cuts it off: originals, or a conflict that is told."""

from hypothesis import given, strategies as st

from kpd.production.far.plan import ABSENT, LINK, STRANGE, Entry, ordered, owned, step

ORIGINAL, CANDIDATE, OTHER = "original", "candidate", "other"
FILE = Entry("a.cu", "file", ORIGINAL, 0o644, 0, 0)
BINARY = Entry("prover", "binary", ORIGINAL, 0o755, 0, 0)


def test_what_kpd_wrote_is_put_back_and_nothing_else() -> None:
    written = FILE._replace(wrote=(CANDIDATE,))
    assert step(written, ORIGINAL) == "same"
    assert step(written, CANDIDATE) == "put back"
    assert step(FILE, CANDIDATE) == step(written, OTHER) == step(written, ABSENT) == "conflict"
    assert step(written, STRANGE) == "conflict"


def test_of_a_build_that_was_cut_off_any_binary_is_ours_but_no_source() -> None:
    for entry, wanted in ((BINARY, "put back"), (FILE, "conflict")):
        assert step(entry._replace(building=True), OTHER) == wanted
        assert step(entry, OTHER) == "conflict"
    assert step(BINARY._replace(building=True), STRANGE) == "conflict"
    assert step(BINARY._replace(building=True), LINK) == "put back"
    assert step(BINARY, LINK) == step(FILE._replace(building=True), LINK) == "conflict"


def test_a_binary_that_somebody_has_removed_is_put_back_and_a_source_is_not() -> None:
    assert (step(BINARY, ABSENT), step(FILE, ABSENT)) == ("put back", "conflict")


def test_a_binary_that_was_not_there_is_removed_again() -> None:
    first = BINARY._replace(sha=ABSENT)
    assert step(first, ABSENT) == "same"
    assert step(first._replace(building=True), OTHER) == step(first._replace(wrote=(OTHER,)), OTHER) == "remove"
    assert step(first, OTHER) == "conflict"


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["put", "build", "cut off", "somebody", "restore"]), st.integers(0, 3)), max_size=12
)


@given(actions=ACTIONS, cuts=st.lists(st.integers(0, 4), max_size=4))
def test_any_prefix_of_actions_and_cuts_ends_whole(actions: list[tuple[str, int]], cuts: list[int]) -> None:
    """A model of the place: kpd writes and builds, somebody edits, and restores are cut off after some of their steps.

    Each write is recorded before it happens, as on the host."""
    entries = {
        "a.cu": FILE,
        "b.cu": FILE._replace(path="b.cu"),
        "prover": BINARY,
        "lib.so": BINARY._replace(path="lib.so", sha=ABSENT),
    }
    now = {path: entry.sha for path, entry in entries.items()}
    edited = set()

    def restore(most: int) -> list[str]:
        conflicts = []
        for entry in ordered(list(entries.values()))[:most]:
            match step(entry, now[entry.path]):
                case "put back" | "remove":
                    now[entry.path] = entry.sha
                case "conflict":
                    conflicts.append(entry.path)
        return conflicts

    for number, (what, which) in enumerate(actions):
        path = list(entries)[which]
        entry = entries[path]
        new = f"{what} {number}"
        match what:
            case "put" if owned(entry, now[path]):
                entries[path] = entry._replace(wrote=(*entry.wrote, new))
                now[path] = new
                edited.discard(path)
            case "build" | "cut off" if all(owned(one, now[name]) for name, one in entries.items()):
                for name in ("prover", "lib.so"):
                    now[name] = f"{name} {new}"
                    wrote, done = entries[name].wrote, what == "build"
                    wrote = (*wrote, now[name]) if done else wrote
                    entries[name] = entries[name]._replace(wrote=wrote, building=not done)
                    edited.discard(name)
            case "somebody":
                now[path] = new
                edited.add(path)
            case "restore":
                restore(which)
    for cut in cuts:
        restore(cut)
    conflicts = restore(len(entries))
    for path, entry in entries.items():
        if path in conflicts:
            assert path in edited, "kpd's own change was left in place"
            assert now[path] != entry.sha
        else:
            assert now[path] == entry.sha
    for path in edited - set(conflicts):
        assert (entries[path].building and entries[path].kind == "binary") or now[path] == entries[path].sha


def test_binaries_come_first() -> None:
    """At no time a restored source stands beside a candidate's binary."""
    assert [entry.kind for entry in ordered([FILE, BINARY, FILE, BINARY])] == ["binary", "binary", "file", "file"]
