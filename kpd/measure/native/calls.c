/* Filters of system calls: what a worker can ask of the system, beside Landlock's rules or where there are none.
 *
 * It starts no process, opens no connection, and cannot ask for another process's memory, files or limits, or have it
 * scheduled otherwise; without a device it changes no file, either. Once the kernels are loaded, what it maps is data, and code
 * that is there stays as it is. About each thread the driver is asked. Elsewhere than on Linux they do nothing.
 */
#include "driver.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

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
    SYS_setsid, SYS_setpgid, SYS_setpriority, SYS_ioprio_set, SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open,
    424 /* pidfd_send_signal */, 425 /* io_uring_setup */, 426, 427, 428 /* open_tree, and on to fspick */, 429, 430, 431, 432, 433,
    434 /* pidfd_open */, 438 /* pidfd_getfd */, 440 /* process_madvise */, 442 /* mount_setattr */, 448 /* process_mrelease */,
#ifdef __x86_64__
    SYS_fork, SYS_vfork,
#endif
};

/* Calls by which a file is changed past its descriptor. */
static const uint32_t changing[] = {
    SYS_truncate, SYS_unlinkat, SYS_mkdirat, SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_renameat2, SYS_fchmod, SYS_fchmodat,
    SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, SYS_ftruncate, SYS_fallocate, SYS_memfd_create, 447 /* memfd_secret */, 452 /* fchmodat2 */,
    463 /* setxattrat */, 464 /* getxattrat */, 465 /* listxattrat */, 466 /* removexattrat */, 469 /* file_setattr */,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef __x86_64__
    SYS_creat, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_mknod, SYS_link, SYS_symlink, SYS_rename, SYS_chmod, SYS_chown, SYS_lchown,
    SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

/* By which root changes the machine, and which no profiler needs. Mounts are Landlock's. */
static const uint32_t of_the_machine[] = {
    SYS_reboot, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_settimeofday, SYS_clock_settime,
    SYS_adjtimex, SYS_clock_adjtime, SYS_swapon, SYS_swapoff, SYS_sethostname, SYS_setdomainname, SYS_acct, SYS_quotactl,
    SYS_setns, SYS_bpf, SYS_setpriority, SYS_ioprio_set,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm,
#endif
};

/* Of any process of the user, for which Landlock has no rule; 0 is the thread that asks. */
static const uint32_t schedules[] = {SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity};

#define NUMBER (uint32_t)offsetof(struct seccomp_data, nr)
#define ARGUMENT(i) (uint32_t)(offsetof(struct seccomp_data, args) + 8u * (i)) /* its low half, as both are little-endian */
#define LOAD(from) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, from)
#define END(how) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how)
#define SKIP_IF(test, value, yes, no) (struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define NO(error) (SECCOMP_RET_ERRNO | (error))
#define MOST_STEPS 400
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

/* For all threads of the process. 0 where one has a filter of its own: then this one holds for none. */
static int install(void) {
    step(END(SECCOMP_RET_ALLOW));
    struct sock_fprog program = {count, steps};
    long other = count == MOST_STEPS ? -1 : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (other < 0) perror("kpd driver: the worker has no filter of system calls");
    return other <= 0;
}

/* Memory that grows as a stack does is in no limit. No kernel needs it: who asks for it ends, as it could do without it here only. */
static void end_for_own_stacks(void) {
    step(SKIP_IF(BPF_JEQ, SYS_mmap, 0, 4));
    step(LOAD(ARGUMENT(3)));
    step(SKIP_IF(BPF_JSET, MAP_GROWSDOWN, 0, 1));
    step(END(SECCOMP_RET_KILL_PROCESS));
    step(LOAD(NUMBER));
}

/* Memory that is shared is in no limit, either. */
static void forbid_changes(void) {
    end_for_own_stacks();
    forbid(changing, sizeof changing / sizeof *changing);
    step(SKIP_IF(BPF_JEQ, 437 /* openat2 */, 0, 1));
    step(END(NO(ENOSYS))); /* its flags are out of a filter's sight, too */
#ifdef __x86_64__
    forbid_if(SYS_open, 1, BPF_JSET, FOR_WRITING, 1);
#endif
    forbid_if(SYS_openat, 2, BPF_JSET, FOR_WRITING, 1);
    forbid_if(SYS_mmap, 3, BPF_JSET, MAP_SHARED, 1);
}

static void schedule_only_itself(void) {
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) forbid_if(schedules[i], 0, BPF_JEQ, 0, 0);
}

/* Under a profiler on a GPU, which keeps what root may. */
void calls_narrow(void) {
    begin();
    forbid(of_the_machine, sizeof of_the_machine / sizeof *of_the_machine);
    schedule_only_itself();
    install();
}

void calls_filter(void) {
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
    schedule_only_itself();
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

/* What a kernel gives as advice makes its own memory faster, and takes no pages away: the other kernel may need them. To give back
 * memory of its own is no attack: who does is told that it cannot be. What pages others' memory out ends the process. */
static void forbid_other_advice(void) {
    static const uint32_t harmless[] = {
        MADV_HUGEPAGE, MADV_NOHUGEPAGE, 22 /* MADV_POPULATE_READ */, 23 /* …_WRITE */, 25 /* MADV_COLLAPSE */};
    unsigned char many = sizeof harmless / sizeof *harmless;
    step(SKIP_IF(BPF_JEQ, SYS_madvise, 0, many + 7));
    step(LOAD(ARGUMENT(2)));
    step(SKIP_IF(BPF_JEQ, 20 /* MADV_COLD */, 1, 0));
    step(SKIP_IF(BPF_JEQ, 21 /* MADV_PAGEOUT */, 0, 1));
    step(END(SECCOMP_RET_KILL_PROCESS));
    step(SKIP_IF(BPF_JGT, MADV_WILLNEED, 0, many + 1));
    for (unsigned char i = 0; i < many; i++) step(SKIP_IF(BPF_JEQ, harmless[i], (unsigned char)(many - i), 0));
    step(END(NO(EPERM)));
    step(END(SECCOMP_RET_ALLOW));
}

/* No kernel makes code by mistake: the process ends with SIGSYS. */
static void end_if_code(uint32_t call) {
    step(SKIP_IF(BPF_JEQ, call, 0, 4));
    step(LOAD(ARGUMENT(2)));
    step(SKIP_IF(BPF_JSET, PROT_EXEC, 0, 1));
    step(END(SECCOMP_RET_KILL_PROCESS));
    step(END(SECCOMP_RET_ALLOW));
}

/* A library that is loaded at first use is no attack: who wants it is told that it cannot be. */
static void forbid_code_in_mmap(void) {
    step(SKIP_IF(BPF_JEQ, SYS_mmap, 0, 7));
    step(LOAD(ARGUMENT(2)));
    step(SKIP_IF(BPF_JSET, PROT_EXEC, 0, 4));
    step(LOAD(ARGUMENT(3)));
    step(SKIP_IF(BPF_JSET, MAP_ANONYMOUS, 0, 1));
    step(END(SECCOMP_RET_KILL_PROCESS));
    step(END(NO(EPERM)));
    step(END(SECCOMP_RET_ALLOW));
}

/* mremap could put other code where code lies. All that it may still do is to give shared memory a further place
 * (places.c): for that it is told a size of 0 (Linux 4.14). The C library's realloc copies instead. */
static void forbid_moves(void) {
    step(SKIP_IF(BPF_JEQ, SYS_mremap, 0, 6));
    step(LOAD(ARGUMENT(1)));
    step(SKIP_IF(BPF_JEQ, 0, 0, 2));
    step(LOAD(ARGUMENT(1) + 4u));
    step(SKIP_IF(BPF_JEQ, 0, 1, 0));
    step(END(NO(EPERM)));
    step(END(SECCOMP_RET_ALLOW));
}

/* How the process is scheduled, timed and filtered is settled by now. With no handler of its own a kernel cannot close pages to the other one, which
 * would take a fault for each. */
static const uint32_t settled[] = {
    SYS_prctl, SYS_seccomp, SYS_rt_sigaction, SYS_setitimer, SYS_timer_create, SYS_timerfd_create,
#ifdef __x86_64__
    SYS_alarm,
#endif
};

static int filter_code(void) {
    begin();
    forbid(settled, sizeof settled / sizeof *settled);
    forbid(schedules, sizeof schedules / sizeof *schedules);
    forbid_other_advice();
    forbid_moves();
    forbid_code_in_mmap();
    end_if_code(SYS_mprotect);
    end_if_code(SYS_pkey_mprotect);
    return install();
}
#else
void calls_narrow(void) {}

void calls_filter(void) {}
static int filter_code(void) { return 1; }
#endif

/* From now on no memory becomes code, where no device's driver makes some at any time. 0 where a kernel is in the way. */
int calls_seal(void) { return sandbox_is_open() || engine_makes_code || filter_code(); }

#if defined(ARCHITECTURE) && defined(SECCOMP_USER_NOTIF_FLAG_CONTINUE)
/* Whether the answer can be "go on": since Linux 5.5. */
static int can_answer(void) {
    struct utsname system;
    unsigned major = 0, minor = 0;
    return !uname(&system) && sscanf(system.release, "%u.%u", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 5));
}

/* From now on this process waits for the driver with each thread that it starts: what that is asked by, or -1. */
int calls_ask_for_threads(void) {
    if (sandbox_is_open() || !can_answer() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    begin();
    step(SKIP_IF(BPF_JEQ, SYS_clone, 0, 1));
    step(END(SECCOMP_RET_USER_NOTIF));
    step(END(SECCOMP_RET_ALLOW));
    struct sock_fprog program = {count, steps};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* A thread that has ended meanwhile is no error. */
void calls_let_thread_start(int asked) {
    struct seccomp_notif of;
    memset(&of, 0, sizeof of);
    if (ioctl(asked, SECCOMP_IOCTL_NOTIF_RECV, &of)) return;
    struct seccomp_notif_resp yes = {.id = of.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(asked, SECCOMP_IOCTL_NOTIF_SEND, &yes);
}
#else
int calls_ask_for_threads(void) { return -1; }

void calls_let_thread_start(int asked) { (void)asked; }
#endif
#else
void calls_narrow(void) {}

void calls_filter(void) {}

int calls_seal(void) { return 1; }

int calls_ask_for_threads(void) { return -1; }

void calls_let_thread_start(int asked) { (void)asked; }
#endif
