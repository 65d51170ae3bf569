"""Makes the archive of the runner that is staged on a host, and the archive of a candidate's files."""

import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files as resources

PACKAGES = ("kpd", "kpd/hosts", "kpd/hosts/helper", "kpd/measure", "kpd/measure/python", "kpd/measure/python/host")
HELPERS = ("children", "processes", "sandbox")
HOST = "measure/python/host"
WHEN = (1980, 1, 1, 0, 0, 0)
COMPILED = """\
import importlib.util, marshal, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as sources, zipfile.ZipFile(sys.argv[2], "w") as made:
    for path in sources.namelist():
        source = sources.read(path)
        code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
        head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
        for name, content in ((path, source), (path + "c", head + code)):
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
"""
"""Copies the runner's archive with the bytecode of its modules, which is taken as it is (PEP 552)."""


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
