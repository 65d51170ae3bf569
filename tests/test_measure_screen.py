"""Tripwires: flagged when the candidate adds the line, silent about what was there before."""

import pytest

from kpd.measure.screen import protected_touched, tripwires


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("// ... rest of the kernel unchanged", "elided code"),
        ("// TODO: implement the tail", "unfinished code"),
        ("pthread_create(&t, 0, work, 0);", "starts threads or processes"),
        ("__attribute__((constructor)) void before(void);", "runs code when loaded"),
        ("void *f = dlsym(0, name);", "reaches into its process"),
        ("int clock_gettime(int id, void *at) { return 0; }", "reads or replaces the clock"),
        ('FILE *f = fopen("/tmp/x", "r");', "reaches outside the kernel"),
        ("signal(11, handler);", "ends or hooks a process"),
        ("static const float *last;", "keeps a pointer between calls"),
    ],
)
def test_each_tripwire_names_its_line(line: str, reason: str) -> None:
    before, after = b"void kernel(void) { work(); }\n", f"void kernel(void) {{ work(); }}\n{line}\n".encode()
    assert f"kernel.c:2 {reason}" in tripwires({"kernel.c": before}, {"kernel.c": after})
    assert tripwires({"kernel.c": after}, {"kernel.c": after}) == ()


def test_an_emptied_body_is_flagged() -> None:
    before, after = b"void kernel(int n) { work(n); }", b"void kernel(int n) { }"
    assert tripwires({"kernel.c": before}, {"kernel.c": after}) == ("kernel.c has 1 more empty function bodies",)


def test_an_honest_change_is_silent() -> None:
    before = b"for (int i = 0; i < n; i++) y[i] = x[i];\n"
    after = b"for (int i = 0; i < n; i += 4) for (int j = 0; j < 4; j++) y[i + j] = x[i + j];\n"
    assert tripwires({"kernel.c": before}, {"kernel.c": after}) == ()


def test_only_editable_files_may_be_proposed() -> None:
    assert protected_touched(["kernel.c"], {"kernel.c": b"", "harness.c": b"", "../x": b""}) == ("harness.c", "../x")
