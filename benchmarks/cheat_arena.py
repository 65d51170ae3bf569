"""A workspace in which benchmarks/cheats.py tries kernels, and what it compares before and after each."""

import sys
import tempfile
from pathlib import Path

import cheat_traces as traces
from cheat_corpus import ON_GPU, Kernel, in_section, slowed

from kpd import __version__
from kpd.wire import PROTOCOL
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task


class Arena:
    """A workspace with the tasks, and what this run compares before and after. A tainted one is left for a new one.

    In tasks of `any_case` no kernel is refused for one slow case.
    """

    def __init__(
        self, home: Path, language: str, bait: traces.Bait, name: str, gpu: str = "", any_case: bool = False
    ) -> None:
        self.workspace = Workspace(home / "workspace")
        self.bait = bait
        self.language = language
        self.name = name
        self._gpu = gpu
        self._any_case = any_case
        self.places = {
            "BAIT": str(self.bait.root), "WORKSPACE": str(self.workspace.root), "LEASES": str(home / "leases"),
            "NAME": name, "SOCKET": str(self.workspace.socket), "PROTOCOL": str(PROTOCOL), "VERSION": __version__,
        }  # fmt: skip
        self.workspace.tasks.mkdir(parents=True)
        gpus = f"[{gpu}]" if language in ON_GPU else '["none"]'  # other parts may be measuring there
        self.workspace.config.write_text(
            f'[run]\nhost = "local"\nprofile = "never"\n[hosts.local]\nleases = "{home}/leases"\ngpus = {gpus}\n'
        )
        self._before: dict[str, str] = {}
        self._settings = traces.settings(gpu)

    def put_task(self, task: str, slow: bool) -> str:
        """Copy a shipped task into the workspace, with a slow kernel where that is wanted; return its name there.

        After a run it is there already, with the incumbent as its kernel.
        """
        name = f"{task}_slow" if slow else task
        folder = self.workspace.tasks / name
        folder.mkdir(exist_ok=True)
        for path in (shipped("tasks") / task).iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        with (folder / "task.toml").open("a") as file:
            if self.language == "python":
                file.write(f'\n[build]\npython = "{sys.executable}"\n')
            if self._any_case:
                file.write("\n[accept]\nworst_case = 0\n")
        if slow:
            toml = (folder / "task.toml").read_text().replace(f'name = "{task}"', f'name = "{name}"')
            if self.language == "cuda":
                toml = toml.replace("[check]\n", "[check]\nsanitizer = false\n")
            (folder / "task.toml").write_text(toml)
            kernel = load_task(folder).editable[0]
            if (text := slowed(self.language, task)) is not None:
                (folder / kernel).write_text(in_section(text, (folder / kernel).read_text()))
            elif (folder / "build.json").exists():
                (folder / "build.json").write_text('{"flags": "-O0"}')
        return name

    def put_candidates(self, name: str, kernels: list[Kernel]) -> Path:
        """Write the candidates' folders into one folder, and return that."""
        folder = Path(tempfile.mkdtemp(prefix="candidates-", dir=self.workspace.root))
        for number, kernel in enumerate(kernels):
            self.put_candidate(folder, name, number, kernel)
        return folder

    def put_candidate(self, folder: Path, name: str, number: int, kernel: Kernel) -> None:
        """Write the folder of the candidate that is proposed as number `number`."""
        task = load_task(self.workspace.tasks / name)
        original = (shipped("tasks") / task.name.removesuffix("_slow") / task.editable[0]).read_text()
        one = folder / f"{number:03}_{kernel.name}"
        one.mkdir()
        for path, text in kernel.files(self.places, task.editable, original).items():
            (one / path).write_text(text)

    def before(self) -> None:
        """Note how things are before a kernel is tried."""
        self.bait.lay()
        self._before = traces.kept(self.workspace.host_root, self.workspace.root, older_s=1.0)

    def left(self) -> list[str]:
        """List what the kernel has left behind, and clean up."""
        found = [f"bait: {path}" for path in self.bait.touched()]
        now = traces.kept(self.workspace.host_root, self.workspace.root)
        found += [f"changed: {Path(path).name} of {Path(path).parts[-3]}" for path in traces.changed(self._before, now)]
        found += [f"process: {comm}" for comm in traces.processes(self.name).values()]
        found += [f"file: {path}" for path in traces.strays(self.name)]
        if (settings := traces.settings(self._gpu)) != self._settings:
            found.append(f"GPU: {self._settings} became {settings}")
            self._settings = settings
        traces.clean(self.name)
        return found
