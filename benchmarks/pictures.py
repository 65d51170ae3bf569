"""Draw the documents' pictures anew: ten screens of the recording that `kpd demo` plays, at three sizes, as SVG.

    python benchmarks/pictures.py [OUT] [--recording FILE]

OUT is docs/pictures unless another folder is given; `make pictures` calls this. The same recording gives the same
pictures, but for the name of the temporary folder in the log.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from kpd.cli.demo import SHIPPED
from kpd.demo.playback_journal import temporary_workspace
from kpd.demo.player import Player
from kpd.demo.recording import Recording, load
from kpd.model import events as e
from kpd.workspace.config import TuiConfig
from tui.app import KpdApp
from tui.model.feed import dialling

ROOT = Path(__file__).parent.parent
SIZES = {"": (120, 36), "-80x24": (80, 24), "-200x50": (200, 50)}
"""The sizes of a terminal by the end of a picture's name; the README shows those of the first."""


class Picture(NamedTuple):
    """`pressed` are the keys that lead to the screen from where the recording stands `at`: an iteration and its step.

    Without a step the iteration has ended.
    """

    name: str
    at: tuple[int, str]
    pressed: Sequence[str] = ()
    theme: str = "kpd-dark"


PICTURES = (
    Picture("overview", (12, "")),
    Picture("running", (12, "profile")),
    Picture("run", (12, ""), ("left",)),
    Picture("metrics", (7, ""), ("2",)),
    Picture("rules", (7, ""), ("3",)),
    Picture("diff", (7, ""), ("4", "z", "w")),
    Picture("memo", (12, "profile"), ("5",)),
    Picture("log", (12, ""), ("6",)),
    Picture("hosts", (12, "profile"), ("7",), "kpd-light"),
    Picture("help", (12, ""), ("question_mark",), "kpd-light"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the README's pictures anew.")
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--recording", type=Path, default=SHIPPED)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    recording = load(args.recording)
    for picture in PICTURES:
        for end, size in SIZES.items():
            svg = asyncio.run(drawn(recording, picture, size))
            path = args.out / f"{picture.name}{end}.svg"
            path.write_text(svg)
            print(path, len(svg))


async def drawn(recording: Recording, picture: Picture, size: tuple[int, int]) -> str:
    """The screen as SVG."""
    with temporary_workspace() as workspace, Player(workspace, recording) as player:
        ready = asyncio.Event()
        serving = asyncio.create_task(player.serve(ready.set))
        await ready.wait()
        player.go_on(is_at(*picture.at))
        app = KpdApp(dialling(lambda: workspace.socket), "demo", TuiConfig(theme=picture.theme), zone=UTC)
        async with app.run_test(size=size) as pilot:
            await at_rest(pilot)
            for key in picture.pressed:
                await pilot.press(key)
                await at_rest(pilot)
            svg = app.export_screenshot(title="kpd demo")
        player.end()
        await serving
    return svg


def is_at(iteration: int, step: str) -> Callable[[e.Fact], bool]:
    """Whether a fact is the beginning of a step of an iteration, or without a step its end."""

    def found(fact: e.Fact) -> bool:
        if not isinstance(fact, e.StepStarted if step else e.IterationEnded) or fact.iteration != iteration:
            return False
        return not isinstance(fact, e.StepStarted) or fact.step == step

    return found


async def at_rest(pilot: Pilot[int]) -> None:
    """Until everything that was sent is shown, and everything asked for is answered."""
    app = pilot.app
    assert isinstance(app, KpdApp)
    for _ in range(3):
        await pilot.pause(0.7)
        if asked := [one for one in app.workers if one.group in ("ask", "send")]:
            await app.workers.wait_for_complete(asked)


if __name__ == "__main__":
    main()
