/* What keeps a kernel from the driver and the host: the worker's own sandbox, within that of its job.
 *
 * Landlock: it reads the system's programs, libraries and devices and the objects that it is to load, writes nothing, and can
 * neither signal nor look into a process outside. A filter of system calls: it starts no process, opens no connection, and
 * cannot ask for another process's memory, files or limits; without a device it changes no file, either, so that this holds
 * where there is no Landlock. On a system that has neither, both do nothing. Once the kernels are loaded, no memory becomes
 * code: what a kernel maps is data, and code that is there stays as it is.
 * The numbers of Landlock's calls and rights are the same on every architecture, and older headers lack them.
 */
#include "driver.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN "KPD_UNCONFINED" /* set where the job is in no sandbox either */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define ALL_FILES 0x1FFFu   /* all rights of version 1 */
#define REFER 0x2000u       /* since version 2 */
#define TRUNCATE 0x4000u    /* since version 3 */
#define IOCTL_DEVICE 0x8000u /* since version 5 */
#define READS 0xDu          /* execute, read a file, read a folder */
#define READS_FILE 0x5u
#define USES 0x800Eu        /* of a device: write, read, read a folder, ioctl */
#define USES_FILE 0x8006u
#define WRITE_FILE 0x2u
#define CHANGES 0x7FF2u      /* write, remove, make, refer, truncate */
#define TCP 3u              /* since version 4 */
#define OUTSIDE 3u          /* abstract sockets and signals to processes outside, since version 6 */

/* A pattern is looked up in its folder, and the job's own sandbox lets no folder be listed but these and /dev. */
static const char *const readable[] = {
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/opt", "/nix/store", "/gnu/store", "/proc", "/sys", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime", "/etc/nvidia", "/run/nvidia"};
static const char *const usable[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg"};

static void allow(int ruleset, const char *pattern, uint64_t folder, uint64_t file) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat about;
        struct __attribute__((packed)) {
            uint64_t rights;
            int32_t beneath;
        } rule = {0, open(found.gl_pathv[i], O_PATH | O_CLOEXEC)};
        if (rule.beneath < 0) continue;
        rule.rights = !fstat(rule.beneath, &about) && S_ISDIR(about.st_mode) ? folder : file;
        syscall(ADD_RULE, ruleset, 1, &rule, 0);
        close(rule.beneath);
    }
    globfree(&found);
}

static void landlock(const char *const objects[2]) {
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    if (version < 1) return;
    uint64_t ioctl_device = version >= 5 ? IOCTL_DEVICE : 0;
    uint64_t files = ALL_FILES | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | ioctl_device;
    struct {
        uint64_t files, network, outside;
    } terms = {files, version >= 4 ? TCP : 0, version >= 6 ? OUTSIDE : 0};
    int ruleset = (int)syscall(CREATE_RULESET, &terms, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
    if (ruleset < 0) return;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) allow(ruleset, readable[i], READS, READS_FILE);
    for (size_t i = 0; i < sizeof usable / sizeof *usable; i++) allow(ruleset, usable[i], USES & files, USES_FILE & files);
    if (engine_uses_device) allow(ruleset, "/proc/self", (READS | WRITE_FILE | TRUNCATE) & files, 0);
    for (int i = 0; i < 2; i++) {
        char path[PATH_BYTES];
        if (!objects[i]) continue;
        object_path(path, objects[i]);
        allow(ruleset, path, READS, READS_FILE);
    }
    syscall(RESTRICT_SELF, ruleset, 0, 0);
    close(ruleset);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
/* Calls that no kernel needs. By number, where headers may lack the name: these are the same on every architecture. */
static const uint32_t forbidden[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_perf_event_open, SYS_bpf, SYS_userfaultfd,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_open_by_handle_at, SYS_execve, SYS_execveat, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_personality,
    SYS_setsid, SYS_setpgid, SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open,
    424 /* pidfd_send_signal */, 425 /* io_uring_setup */, 426, 427, 428 /* open_tree, and on to fspick */, 429, 430, 431, 432, 433,
    434 /* pidfd_open */, 438 /* pidfd_getfd */, 440 /* process_madvise */, 442 /* mount_setattr */, 448 /* process_mrelease */,
#ifdef __x86_64__
    SYS_fork, SYS_vfork,
#endif
};

/* Calls by which a file is changed past its descriptor. */
static const uint32_t changing[] = {
    SYS_truncate, SYS_unlinkat, SYS_mkdirat, SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_renameat2, SYS_fchmod, SYS_fchmodat,
    SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_memfd_create,
    447 /* memfd_secret */, 452 /* fchmodat2 */,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef __x86_64__
    SYS_creat, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_mknod, SYS_link, SYS_symlink, SYS_rename, SYS_chmod, SYS_chown, SYS_lchown,
    SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

#define NUMBER (uint32_t)offsetof(struct seccomp_data, nr)
#define ARGUMENT(i) (uint32_t)(offsetof(struct seccomp_data, args) + 8u * (i)) /* its low half, as both are little-endian */
#define LOAD(from) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, from)
#define END(how) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how)
#define SKIP_IF(test, value, yes, no) (struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define NO(error) (SECCOMP_RET_ERRNO | (error))
#define MOST_STEPS 300
#define FOR_WRITING (uint32_t)(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static struct sock_filter steps[MOST_STEPS];
static unsigned short count;

static void step(struct sock_filter one) {
    if (count < MOST_STEPS) steps[count++] = one;
}

/* `call` fails when the test of its argument, which is an equality (BPF_JEQ) or a common bit (BPF_JSET), gives `bad`. */
static void forbid_if(uint32_t call, unsigned argument, unsigned short test, uint32_t value, int bad) {
    step(SKIP_IF(BPF_JEQ, call, 0, 4));
    step(LOAD(ARGUMENT(argument)));
    step(SKIP_IF(test, value, bad ? 0 : 1, bad ? 1 : 0));
    step(END(NO(EPERM)));
    step(END(SECCOMP_RET_ALLOW));
}

/* A filter begins with the number of the call. */
static void begin(void) {
    count = 0;
    step(LOAD((uint32_t)offsetof(struct seccomp_data, arch)));
    step(SKIP_IF(BPF_JEQ, ARCHITECTURE, 1, 0));
    step(END(SECCOMP_RET_KILL_PROCESS)); /* the calls of another architecture have other numbers */
    step(LOAD(NUMBER));
#ifdef __x86_64__
    step(SKIP_IF(BPF_JGE, 0x40000000u, 0, 1)); /* as do those of x32 */
    step(END(NO(ENOSYS)));
#endif
}

static void forbid(const uint32_t *calls, size_t many) {
    for (size_t i = 0; i < many; i++) {
        step(SKIP_IF(BPF_JEQ, calls[i], 0, 1));
        step(END(NO(EPERM)));
    }
}

static void install(void) {
    step(END(SECCOMP_RET_ALLOW));
    struct sock_fprog program = {count, steps};
    if (count == MOST_STEPS || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        perror("kpd driver: the worker has no filter of system calls");
}

/* Memory that is shared is in no limit. */
static void forbid_changes(void) {
    forbid(changing, sizeof changing / sizeof *changing);
    step(SKIP_IF(BPF_JEQ, 437 /* openat2 */, 0, 1));
    step(END(NO(ENOSYS))); /* its flags are out of a filter's sight, too */
#ifdef __x86_64__
    forbid_if(SYS_open, 1, BPF_JSET, FOR_WRITING, 1);
#endif
    forbid_if(SYS_openat, 2, BPF_JSET, FOR_WRITING, 1);
    forbid_if(SYS_mmap, 3, BPF_JSET, MAP_SHARED, 1);
}

static void filter(void) {
    uint32_t self = (uint32_t)getpid();
    begin();
    forbid(forbidden, sizeof forbidden / sizeof *forbidden);
    if (!engine_uses_device) forbid_changes();
    step(SKIP_IF(BPF_JEQ, 435 /* clone3 */, 0, 1));
    step(END(NO(ENOSYS))); /* its flags are out of a filter's sight; the C library then takes clone */
    forbid_if(SYS_clone, 0, BPF_JSET, 0x00010000u /* CLONE_THREAD */, 0);
    forbid_if(SYS_kill, 0, BPF_JEQ, self, 0);
    forbid_if(SYS_tgkill, 0, BPF_JEQ, self, 0);
    forbid_if(SYS_prlimit64, 0, BPF_JEQ, 0, 0);
    if (engine_uses_device) forbid_if(SYS_socket, 0, BPF_JEQ, AF_UNIX, 0);
    else {
        step(SKIP_IF(BPF_JEQ, SYS_socket, 0, 1));
        step(END(NO(EPERM)));
    }
    step(SKIP_IF(BPF_JEQ, SYS_fcntl, 0, 4)); /* who gets a file's signals */
    step(LOAD(ARGUMENT(1)));
    step(SKIP_IF(BPF_JEQ, F_SETOWN, 1, 0));
    step(SKIP_IF(BPF_JEQ, 15 /* F_SETOWN_EX */, 0, 1));
    step(END(NO(EPERM)));
    install();
}

/* What a kernel gives as advice makes its own memory faster, and takes no pages away: the other kernel may need them. */
static void forbid_other_advice(void) {
    step(SKIP_IF(BPF_JEQ, SYS_madvise, 0, 6));
    step(LOAD(ARGUMENT(2)));
    step(SKIP_IF(BPF_JGT, MADV_NOHUGEPAGE, 2, 0));
    step(SKIP_IF(BPF_JGE, MADV_HUGEPAGE, 2, 0));
    step(SKIP_IF(BPF_JGT, MADV_WILLNEED, 0, 1));
    step(END(NO(EPERM)));
    step(END(SECCOMP_RET_ALLOW));
}

/* How the process is scheduled, timed and filtered is settled by now. */
static const uint32_t settled[] = {
    SYS_prctl, SYS_seccomp, SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_ioprio_set,
    SYS_setitimer, SYS_timer_create, SYS_timerfd_create,
#ifdef __x86_64__
    SYS_alarm,
#endif
};

static void filter_code(void) {
    begin();
    forbid(settled, sizeof settled / sizeof *settled);
    forbid_other_advice();
    forbid_if(SYS_mmap, 2, BPF_JSET, PROT_EXEC, 1);
    forbid_if(SYS_mprotect, 2, BPF_JSET, PROT_EXEC, 1);
    forbid_if(SYS_pkey_mprotect, 2, BPF_JSET, PROT_EXEC, 1);
    install();
}
#else
static void filter(void) {}
static void filter_code(void) {}
#endif

/* Nobody but root reads the driver's memory, files or environment from now on, nor do processes that it forks. */
void sandbox_hide(void) {
    if (!getenv(OPEN)) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Confine this process for good, before it has threads or loads an object. CUDA looks into /proc/self: it stays readable. */
void sandbox_enter(const char *const objects[2]) {
    if (getenv(OPEN)) return;
    struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    syscall(SYS_capset, &version, none);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    landlock(objects);
    filter();
}

/* From now on no memory becomes code. The C library of CUDA's driver makes some at any time. */
void sandbox_seal(void) {
    if (!getenv(OPEN) && !engine_makes_code) filter_code();
}

/* Under a profiler or a sanitizer, which works in this process: it writes only in the job's folder, to devices and to itself.
 * The job of a kernel on a GPU can write all of /proc, and root's could change the system's settings there. */
void sandbox_narrow(void) {
    static const char *const writable[] = {".", "/dev", "/proc/self"};
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    uint64_t changes = CHANGES & (ALL_FILES | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0));
    if (version < 1 || getenv(OPEN) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    int ruleset = (int)syscall(CREATE_RULESET, &changes, sizeof changes, 0);
    if (ruleset < 0) return;
    for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) allow(ruleset, writable[i], changes, 0);
    syscall(RESTRICT_SELF, ruleset, 0, 0);
    close(ruleset);
}
#else
void sandbox_hide(void) {}

void sandbox_seal(void) {}

void sandbox_narrow(void) {}

void sandbox_enter(const char *const objects[2]) { (void)objects; }
#endif
