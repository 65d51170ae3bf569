"""Makes the archive of the runner that is staged on a host, and the archive of a candidate's files."""

import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files as resources

PACKAGES = ("kpd", "kpd/hosts", "kpd/hosts/helper", "kpd/measure", "kpd/measure/python", "kpd/measure/python/host")
HELPERS = ("children", "processes", "sandbox")
HOST = (
    "ahead", "arrays", "batching", "bounds", "bytecode", "calling", "calls", "checking", "compare", "cores", "device",
    "draw", "environment", "gpu", "harness", "heap", "held", "identity", "judging", "kept", "main", "marks",
    "messages", "ninja", "nonfinite", "places", "problems", "process", "profiled", "results", "roofline", "rules",
    "secret", "session", "sizes", "spare", "timing", "triton_once", "truths", "turns", "watched", "worker",
    "worker_stderr",
)  # fmt: skip
WHEN = (1980, 1, 1, 0, 0, 0)


def sources() -> dict[str, bytes]:
    """Return the runner's modules and those of the helper that they import, by their paths in the archive."""
    modules = [f"kpd/hosts/helper/{name}.py" for name in HELPERS] + [
        f"kpd/measure/python/host/{name}.py" for name in HOST
    ]
    found = {f"{package}/__init__.py": b"" for package in PACKAGES}
    root = resources("kpd")
    return found | {path: root.joinpath(path.removeprefix("kpd/")).read_bytes() for path in modules}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of the files: the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            zipped.writestr(zipfile.ZipInfo(path, WHEN), files[path], zipfile.ZIP_DEFLATED)
    return made.getvalue()
