"""Makes the archive of the runner that is staged on a host, and the archive of a candidate's files."""

import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files as resources

PACKAGES = ("kpd", "kpd/hosts", "kpd/hosts/helper", "kpd/measure", "kpd/measure/python", "kpd/measure/python/host")
HELPERS = ("children", "processes", "sandbox")
HOST = "measure/python/host"
WHEN = (1980, 1, 1, 0, 0, 0)


def sources() -> dict[str, bytes]:
    """Return the runner's modules and those of the helper that they import, by their paths in the archive."""
    root = resources("kpd")
    host = [entry.name for entry in root.joinpath(HOST).iterdir() if entry.name.endswith(".py")]
    modules = [f"hosts/helper/{name}.py" for name in HELPERS] + [f"{HOST}/{name}" for name in host]
    found = {f"{package}/__init__.py": b"" for package in PACKAGES}
    return found | {f"kpd/{path}": root.joinpath(path).read_bytes() for path in modules}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of the files: the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            zipped.writestr(zipfile.ZipInfo(path, WHEN), files[path], zipfile.ZIP_DEFLATED)
    return made.getvalue()
