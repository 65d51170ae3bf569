"""Lists the functions that a kernel may call, per language: the libraries of arithmetic, memory and strings.

All others are flagged. What can time, hook or watch a process is in no list, and neither are threads that nobody waits
for: a call on a CPU may start threads and join them, as they have the CPU that it has, and who leaves one is refused.
What a kernel says of an error goes to stderr, and so to the log of its job; stdout is its program's. One that ends its
process has failed.
"""

import re
from dataclasses import dataclass

_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim finite"
    " floor fma fmax fmaximum fmaximum_num fmin fminimum fminimum_num fmod frexp hypot ilogb isinf isnan j0 j1 jn ldexp"
    " lgamma llrint llround log log10 log1p log2 logb lrint lround modf nearbyint nextafter nexttoward pow remainder"
    " remquo rint round roundeven rsqrt scalb scalbln scalbn sin sincos sinh sinpi cospi sqrt tan tanh tgamma trunc y0"
    " y1 yn"
)
_COMPLEX = "cabs carg cexp cimag clog conj cpow cproj creal csin csinh csqrt ccos ccosh ctan ctanh cacos casin catan"
_MEMORY = (
    "malloc calloc realloc free aligned_alloc posix_memalign memalign malloc_usable_size"
    " memcpy memmove memset memcmp memchr memrchr mempcpy bcmp bzero"
    " strlen strnlen strcmp strncmp strchr strrchr strcpy strncpy strstr snprintf qsort bsearch abs labs llabs div ldiv"
    " strtol strtoul strtoll strtoull strtof strtod atoi atol atof"
    " feclearexcept fegetenv fegetround fetestexcept atexit"
    " abort pthread_once pthread_mutex_lock pthread_mutex_unlock pthread_mutex_init pthread_mutex_destroy"
    " pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock pthread_rwlock_init pthread_rwlock_destroy"
    " call_once mtx_lock mtx_unlock mtx_init mtx_destroy"
)
_ERRORS = (
    "exit stderr fprintf vfprintf fputs putc fputc fwrite fflush perror strerror strerror_r"
    " __fprintf_chk __vfprintf_chk __xpg_strerror_r"
)
_COMPILER = (
    r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail(_local)?|__tls_get_addr|__errno_location|__assert_fail|__dso_handle"
    r"|__signgam|__emutls_get_address|__cpu_model|__cpu_features2|__cpu_indicator_init|__(u?div|u?mod|mul|add|sub|neg|ashl|ashr|lshr|u?cmp)[a-z]{1,2}[0-9]"
    r"|__(fix|float|extend|trunc|pow|mul|div)[a-z0-9]{2,12}|__(builtin_)?(popcount|clz|ctz|ffs|bswap|parity)[a-z0-9]*"
    r"|__isoc23_strto[a-z]+|__aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)\w*|__(mem|str)\w+_chk|__snprintf_chk"
)
_PAGES = "mmap(64)?|munmap|madvise|posix_madvise|sysconf|getpagesize"
"""Memory that is mapped once kernels are loaded runs no code (native/calls.c), but CUDA's driver needs code there."""
_JOINED = "pthread_create|pthread_join"
_THREADS = r"GOMP_\w+|omp_\w+|__kmpc_\w+"
_C_PATTERN = (
    rf"({'|'.join((_MATH + ' ' + _COMPLEX).split())})(f|l|f16|f32|f64|f128)?"
    rf"|__({'|'.join(_MATH.split())})(f|l|f128)?_finite|_ZGV\w+_({'|'.join(_MATH.split())})f?"
    rf"|{'|'.join((_MEMORY + ' ' + _ERRORS).split())}|{_COMPILER}"
)
# What C++ adds: memory, exceptions, statics that are made at first use, the templates of the library, and streams that
# write (`_ZNSo`): what makes one of a file, or reads, is refused.
_CPP_PATTERN = (
    r"_Z(nw|na|dl|da)[A-Za-z0-9_]*|__cxa_\w+|_Unwind_\w+|__gxx_personality_v0|_ZT[ISTV]\w+"
    r"|_ZN?K?[RO]?(St|Sa|So|Ss)\w+|__once_proxy|__dynamic_cast|__libc_single_threaded"
)
_CPP_REFUSED = re.compile(
    r"\d(j|this_)?thread|chrono|filebuf|fstream|filesystem|random_device|condition_variable|future|_ZSt(3|4w)cin|_ZSt[45]w?cout|signal"
)
_CUDA_PATTERN = (
    r"__cuda(Get|Launch|Register|Unregister|Push|Pop|Init)\w*|__real___cudaRegisterVar|cudaLaunch(CooperativeKernel|Kernel|KernelExC|KernelEx)"
    r"|cudaGetLastError|cudaPeekAtLastError|cudaGetError(Name|String)|cudaGetDevice|cudaSetDevice|cudaGetDeviceCount"
    r"|cudaGetDeviceProperties(_v2)?|cudaDeviceGetAttribute|cudaFunc[GS]et\w+|cudaOccupancy\w+|cudaGetKernel"
    r"|cudaMalloc(Async|FromPoolAsync|Pitch|3D)?|cudaFree(Async)?|cudaMem(set|cpy)([23]D)?Async|cudaMem(set|cpy)"
    r"|cudaMemcpy(To|From)Symbol(Async)?|cudaGetSymbol(Address|Size)|cudaMemPool\w+|cudaDeviceGetDefaultMemPool"
    r"|cudaEvent(Create(WithFlags)?|Record(WithFlags)?|Destroy|Query|Synchronize)"
    r"|cudaStream(Create(With(Flags|Priority))?|Destroy|WaitEvent|Synchronize|Query|Get(Priority|Flags|Device|Id))"
    r"|cudaStream(Begin|End)Capture\w*|cudaStream(IsCapturing|GetCaptureInfo\w*)|cudaGraph\w+|cudaDeviceSynchronize"
    r"|cudaThreadExchangeStreamCaptureMode|cudaDeviceGetStreamPriorityRange|cudaRuntimeGetVersion|cudaDriverGetVersion"
    r"|cuda(Create|Destroy)(Texture|Surface)Object|cudaCreateChannelDesc"
)
_CUDA_REFUSED = re.compile(r"cudaGraph(AddHostNode|HostNode\w+|AddExternal\w+|ConditionalHandle\w*Host)")
_CALLED_BY_OTHERS = re.compile(
    r"__gmon_start__|_ITM_(de)?registerTMCloneTable|__cxa_finalize|_init|_fini"  # by a linker's own start-up code
    r"|kpd_\w+|clock\w*|gettimeofday|time|nanosleep|usleep|sched_\w+|pthread_\w+|dl(open|sym|close|addr|iterate_phdr)"
    r"|open(at)?(64)?|read|write|close|mmap(64)?|munmap|mprotect|fork|vfork|execve?|_?exit|kill|raise|signal|sigaction"
    r"|syscall|printf|fprintf|puts|fwrite|fopen(64)?|getenv|setenv|cuda\w+|cu[A-Z]\w+"
)


_LOOKS_UP = re.compile(r"cudaGetDriverEntryPoint(ByVersion)?(_ptsz)?")
_TENSOR_MAPS = re.compile(rb"cuTensorMap(EncodeTiled|EncodeIm2col(Wide)?|ReplaceAddress)")
_OF_DRIVER = re.compile(rb"(?<![A-Za-z0-9_])cu[A-Z][A-Za-z0-9_]+(?=\0)")


@dataclass(frozen=True, slots=True)
class Allowed:
    """The functions that an object may call: names that match `called` and not `refused`."""

    called: re.Pattern[str]
    refused: re.Pattern[str] = re.compile(r"(?!)")

    def calls(self, symbol: str) -> bool:
        """Return whether a kernel may call `symbol`."""
        return self.called.fullmatch(symbol) is not None and self.refused.search(symbol) is None

    def looks_up(self, symbol: str, constants: bytes) -> bool:
        """Return whether `symbol` finds functions of CUDA's driver, and all in the object's constants make tensor maps.

        A name that the object puts together is not seen.
        """
        if self is not CUDA or not _LOOKS_UP.fullmatch(symbol):
            return False
        names = _OF_DRIVER.findall(constants)  # of megabytes: not for each symbol
        return bool(names) and all(map(_TENSOR_MAPS.fullmatch, names))

    def replaces(self, symbol: str) -> bool:
        """Return whether `symbol` belongs to a library, or to kpd: an object that defines it could intercept calls."""
        return C.called.fullmatch(symbol) is not None or _CALLED_BY_OTHERS.fullmatch(symbol) is not None


C = Allowed(re.compile(f"{_C_PATTERN}|{_PAGES}|{_JOINED}"))
CPP = Allowed(re.compile(f"{_C_PATTERN}|{_CPP_PATTERN}|{_PAGES}|{_JOINED}"), _CPP_REFUSED)
CUDA = Allowed(
    re.compile(f"{_C_PATTERN}|{_CPP_PATTERN}|{_CUDA_PATTERN}"),
    re.compile(f"{_CPP_REFUSED.pattern}|{_CUDA_REFUSED.pattern}"),
)


def with_threads(allowed: Allowed, flags: tuple[str, ...]) -> Allowed:
    """Return the list with OpenMP's functions where the task's own flags ask for OpenMP."""
    if "-fopenmp" not in flags:
        return allowed
    return Allowed(re.compile(f"{allowed.called.pattern}|{_THREADS}"), allowed.refused)
