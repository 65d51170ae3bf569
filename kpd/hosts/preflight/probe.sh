# Every program may be absent, hang, or print whatever it likes: all run side by side, each into a file of its own that
# cannot grow large, and what has not ended in time is left to the job's supervisor. Each file becomes a section
# "== name status", its lines indented so that none can pass for the head of another.
LC_ALL=C; export LC_ALL
absolute() { case "$1" in ''|/*) printf %s "$1" ;; *) printf %s "$HOME/${1#\~/}" ;; esac; }
home=$(absolute @HOME@)
leases=$(absolute @LEASES@)

has() { command -v "$1" >/dev/null 2>&1; }
tool() {
  if [ -n "$home" ]; then command -v "$home/bin/$1" && return; command -v "$home/$1" && return; fi
  command -v "$1" && return
  command -v "/usr/local/cuda/bin/$1" && return
  ls -d /usr/local/cuda-*/bin/"$1" /opt/nvidia/nsight-compute/*/"$1" 2>/dev/null | sort -V | tail -n 1
}
disassemblers() { for name in objdump llvm-objdump cuobjdump; do tool $name; done; }
names=; pids=
section() {
  name=$1; shift
  names="$names $name"
  { ulimit -f 128; "$@" >"out/$name" 2>&1 </dev/null; echo $? >"out/$name.rc"; } &
  pids="$pids $!"
}

cpu() {
  if [ "$(uname -s)" = Darwin ]; then sysctl -n machdep.cpu.brand_string; return; fi
  sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | grep . ||
    lscpu 2>/dev/null | sed -n 's/^Model name: *//p'
}
installed() { printf '%s\n' "$1"; "$1" --version; }
rights() {
  echo "uid $(id -u)"
  sed -n 's/^CapEff:[[:space:]]*/caps /p' /proc/self/status
  sed -n 's/^RmProfilingAdminOnly: */admin_only /p' /proc/driver/nvidia/params
  sed 's/^/boot /' /proc/sys/kernel/random/boot_id
} 2>/dev/null
logind() {
  grep -q '/session-[^/]*\.scope' /proc/self/cgroup || return
  id -un
  busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager @LOGIND@
}
owner() { ls -ld "$1" | { read -r mode links user rest; echo "$user"; }; }
folder() {
  if [ -L "$1" ]; then echo 'is a symbolic link'
  elif [ -d "$1" ] && ! { [ -w "$1" ] && [ -x "$1" ]; }; then echo "is not writable for you: it is $(owner "$1")'s"
  elif [ -d "$1" ] && [ ! -O "$1" ] && [ ! -k "$1" ]; then echo "is not sticky (chmod +t): it is $(owner "$1")'s"
  elif [ -d "$1" ]; then :
  elif [ -e "$1" ]; then echo "is not a folder: it is $(owner "$1")'s"
  else [ -w "$(dirname "$1")" ] || echo 'is not there and cannot be made'
  fi
}

section cpu cpu
for compiler in @COMPILERS@; do if has $compiler; then section $compiler $compiler --version; fi; done
if has perf; then section perf perf stat -x, -e @COUNTERS@ true; fi
if has nvidia-smi; then section gpus nvidia-smi @QUERY@; section clocks nvidia-smi @CLOCKS@; fi
nvcc=$(tool nvcc); if [ -n "$nvcc" ]; then section nvcc installed "$nvcc"; fi
ncu=$(tool ncu); if [ -n "$ncu" ]; then section ncu installed "$ncu"; fi
if has sort; then section cores sort -u /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list; fi
if [ -r /proc/sys/kernel/perf_event_paranoid ]; then section paranoid cat /proc/sys/kernel/perf_event_paranoid; fi
section disassemblers disassemblers
section rights rights
if has busctl; then section logind logind; fi
if [ -n "$leases" ]; then section leases folder "$leases"; fi

trap : USR1
{ sleep @PATIENCE@; kill -USR1 $$; } >/dev/null 2>&1 &
wait $pids
for name in $names; do
  echo "== $name $(cat "out/$name.rc" 2>/dev/null || echo hangs)"
  sed 's/^/ /' "out/$name"
  echo
done
