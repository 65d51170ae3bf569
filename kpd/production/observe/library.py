"""Builds the library that CUDA loads into the observed program, on the host and for its toolkit."""

from pathlib import Path

from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure import jobs
from kpd.measure.compiling import readable, useful
from kpd.production.observe.errors import ObserveError

NATIVE = Path(__file__).with_name("native")
LIBRARY = "libobserve.so"
BUILD_S = 120.0
NO_CUPTI, NO_COMPILER, NOT_COMPILED, NOT_LOADED = 81, 82, 83, 84

# A toolkit has CUPTI in its own folders or in extras/CUPTI; PyTorch's wheels bring it as packages of their own. Headers
# and library are taken from the same place, as the layout of records is that of the library's version.
_SCRIPT = """
LC_ALL=C; export LC_ALL
for cc in cc gcc clang; do command -v $cc >/dev/null && break; cc=; done
[ -n "$cc" ] || exit @NO_COMPILER@
nvcc=$(command -v nvcc)
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
for root in "$KPD_CUDA_HOME" "$CUDA_HOME" "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}" /usr/local/cuda \\
    $(ls -d /usr/local/cuda-* 2>/dev/null | sort -rV) "$site/nvidia/cu13" "$site/nvidia/cuda_cupti"; do
  [ -n "$root" ] || continue
  for headers in "$root/include" "$root/extras/CUPTI/include"; do [ -f "$headers/cupti.h" ] && break; headers=; done
  for lib in "$root/lib64" "$root/extras/CUPTI/lib64" "$root/lib"; do
    so=$(ls "$lib" 2>/dev/null | grep -E '^libcupti\\.so\\.[0-9]+$' | head -1); [ -n "$so" ] && break
  done
  [ -n "$headers" ] && [ -n "$so" ] && break
done
[ -n "$headers" ] && [ -n "$so" ] || exit @NO_CUPTI@
echo "$headers $lib/$so"
out=$PWD/out/@LIBRARY@
cd @TREE@ || exit @GONE@
more="-I$root/include"; [ -d "$site/nvidia/cuda_runtime/include" ] && more="$more -I$site/nvidia/cuda_runtime/include"
$cc -std=c11 -O2 -shared -fPIC -fvisibility=hidden "-I$headers" $more *.c -o "$out" "-L$lib" "-l:$so" \\
  "-Wl,-rpath,$lib" -ldl -lpthread || exit @NOT_COMPILED@
ldd "$out" | grep 'not found' >&2 && exit @NOT_LOADED@
exit 0
"""


async def library(host: Host) -> str:
    """Return the path of the library on the host, which is built there once. Raises ObserveError, HostError."""
    sources = {path.name: path.read_bytes() for path in sorted(NATIVE.iterdir()) if path.suffix in (".c", ".h")}
    tree = await host.stage(sources)
    marks = {
        "@TREE@": jobs.words([f"{host.root}/trees/{tree}"]),
        "@LIBRARY@": LIBRARY,
        "@GONE@": str(jobs.GONE),
        "@NO_CUPTI@": str(NO_CUPTI),
        "@NO_COMPILER@": str(NO_COMPILER),
        "@NOT_COMPILED@": str(NOT_COMPILED),
        "@NOT_LOADED@": str(NOT_LOADED),
    }
    script = _SCRIPT
    for mark, text in marks.items():
        script = script.replace(mark, text)
    env = {"KPD_CUDA_HOME": host.cuda_home} if host.cuda_home else {}
    id = jobs.key("observe-library", host.boot, host.cuda_home, script)
    built = await jobs.run(host, JobSpec(id, script, BUILD_S, env=env))
    if built.rc or built.reason:
        await host.forget(id)
        raise _refused(host, built)
    return jobs.out(host, id, LIBRARY)


def _refused(host: Host, built: JobResult) -> ObserveError:
    log = readable(built.stderr)
    if built.rc == NO_CUPTI:
        return ObserveError("no_cupti", f"{host.name} has no CUPTI with headers and library")
    if built.rc == NO_COMPILER:
        return ObserveError("no_compiler", f"{host.name} has no C compiler")
    if built.rc == NOT_LOADED:
        return ObserveError(
            "no_library", f"{host.name}: the library needs what is not there: {jobs.tail(built.stderr)}"
        )
    if "is older than 12.0" in log:
        return ObserveError("no_cupti", f"{host.name}: the CUDA toolkit is older than 12.0")
    return ObserveError("no_library", f"{host.name}: the library does not compile: {useful(log) or built.reason}")
