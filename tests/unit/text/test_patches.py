"""A patch of trees says what is new, gone and moved; `git apply` understands it."""

from kpd.text.patches import patch

BEFORE = {"a.h": "1\n", "gone.h": "x\n", "moved.h": "same\n"}
AFTER = {"a.h": "2\n", "new.h": "y", "src/moved.h": "same\n"}


def test_a_patch_of_every_kind() -> None:
    assert "".join(patch(BEFORE, AFTER, "r1.0", "r1.1")) == (
        "--- r1.0/a.h\n+++ r1.1/a.h\n@@ -1 +1 @@\n-1\n+2\n"
        "--- r1.0/gone.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "--- /dev/null\n+++ r1.1/new.h\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n"
        "diff --git r1.0/moved.h r1.1/src/moved.h\nsimilarity index 100%\nrename from moved.h\nrename to src/moved.h\n"
    )


def test_the_same_and_the_empty() -> None:
    assert "".join(patch(BEFORE, BEFORE)) == ""
    assert "".join(patch({"a": ""}, {"b": ""})) == "a: removed, empty\nb: new, empty\n"


def test_two_copies_of_a_file_that_is_gone_are_one_move_and_one_new_file() -> None:
    text = "".join(patch({"a": "x\n"}, {"b": "x\n", "c": "x\n"}))
    assert text.count("rename from a") == 1
    assert text.count("--- /dev/null") == 1


def test_lines_end_where_git_ends_them() -> None:
    old, new = "one\x0c\ntwo\u2028three\r\n", "one\x0c\ntwo\u2028four\r\n"
    lines = "".join(patch({"a.c": old}, {"a.c": new})).split("\n")
    assert lines[3:] == [" one\x0c", "-two\u2028three\r", "+two\u2028four\r", ""]
