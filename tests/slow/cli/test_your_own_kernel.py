"""docs/your-own-kernel.md, followed to the letter: its commands in their order, and what they are said to print."""

import os
import re
import sys
from pathlib import Path

from tests.places import ROOT
from tests.support.cli.shell import Shell, here, runtime

__all__ = ["here", "runtime"]

PAGE = (ROOT / "docs" / "your-own-kernel.md").read_text()
FIGURE = re.compile(r"\d[\d.,e-]*|\([^)]*\)|\[[^]]*\]")


def blocks(part: str, kind: str = "sh") -> list[str]:
    """Return the fenced blocks of a part of the page: its commands, or what they print."""
    text = PAGE.split(f"## {part}\n")[1].split("\n## ")[0]
    return [body for name, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if name == kind]


def shown(text: str) -> set[str]:
    """Return lines of output without their figures."""
    return {FIGURE.sub("…", line).strip() for line in text.splitlines() if line.strip()}


def test_the_page_can_be_followed_to_the_letter(here: Shell) -> None:
    folder = Path(here.env["XDG_RUNTIME_DIR"]) / "bin"
    folder.mkdir()
    (folder / "kpd").write_text(f'#!/bin/sh\nexec {sys.executable} -m kpd.cli.main "$@"\n')
    (folder / "kpd").chmod(0o755)
    here.env["PATH"] = f"{folder}{os.pathsep}{here.env['PATH']}"
    make, own, run = blocks("In C")
    made = here("bash", "-ec", make)
    assert made.returncode == 0, made.stderr
    here.folder /= "mine"
    checked = here("bash", "-ec", own)
    assert checked.returncode == 0, checked.stdout
    ran = here("bash", "-ec", run)
    assert ran.returncode in (0, 2), f"measured, with a gain or without: {ran.stderr}"
    assert "r1.0  ◆ baseline" in ran.stderr and "r1.1  " in ran.stderr
    assert shown(checked.stdout) <= shown("\n".join(blocks("In C", ""))), "the page shows what it prints"
    (send,) = blocks("Send it")
    sent = here("bash", "-ec", send)
    assert sent.returncode == 0 and "everything holds" in sent.stderr, sent.stderr
    assert (here.folder / "gemm.html").exists()
    for part in ("In CUDA", "In Python"):
        (words,) = blocks(part)
        new = words.splitlines()[0]
        name = new.split()[3]
        assert here("bash", "-ec", new).returncode == 0
        assert here("bash", "-ec", f"kpd task check --static {name}").stdout == f"✓ {name}\n"
