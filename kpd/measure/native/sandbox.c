/* What keeps a kernel from the driver and the host: the worker's own sandbox, within that of its job.
 *
 * Landlock: it reads the system's programs, libraries and devices and the objects that it is to load, writes nothing, and can
 * neither signal nor look into a process outside. Filters of system calls do the rest (calls.c). On a system that has
 * neither, both do nothing.
 * The numbers of Landlock's calls and rights are the same on every architecture, and older headers lack them.
 */
#include "driver.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Where the job is in no sandbox either. It is asked before any kernel is loaded, which could change the environment. */
int sandbox_is_open(void) {
    static int known, open;
    if (!known++) open = getenv("KPD_UNCONFINED") != NULL;
    return open;
}

/* Nobody but root reads the driver's memory, files or environment from now on, nor do processes that it forks. */
void sandbox_hide(void) {
    if (!sandbox_is_open()) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Confine this process for good, before it has threads or loads an object. CUDA looks into /proc/self: it stays readable. */
void sandbox_enter(const char *const objects[2]) {
    if (sandbox_is_open()) return;
    struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    syscall(SYS_capset, &version, none);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    landlock(objects);
    calls_filter();
}

/* Under a profiler or a sanitizer of a GPU, which works in this process and keeps what root may: it writes only in the job's
 * folder, to devices and to itself, as the job can write all of /proc, and asks for no change of the machine. */
void sandbox_narrow(void) {
    static const char *const writable[] = {".", "/dev", "/proc/self"};
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    uint64_t changes = CHANGES & (ALL_FILES | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0));
    if (sandbox_is_open() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    calls_narrow();
    if (version < 1) return;
    int ruleset = (int)syscall(CREATE_RULESET, &changes, sizeof changes, 0);
    if (ruleset < 0) return;
    for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) allow(ruleset, writable[i], changes, 0);
    syscall(RESTRICT_SELF, ruleset, 0, 0);
    close(ruleset);
}
#else
void sandbox_hide(void) {}

void sandbox_narrow(void) {}

void sandbox_enter(const char *const objects[2]) { (void)objects; }
#endif
