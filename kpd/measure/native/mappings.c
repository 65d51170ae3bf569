/* Whether the worker's code is what was loaded: read by the driver, whose memory no kernel can reach.
 *
 * What was there when the worker was forked must still be what the driver has in the same place: the driver's own code, the
 * system's libraries with their tables of addresses, the vdso with the clock. What was loaded later is compared with its file;
 * of the two objects the driver keeps a copy from before they were loaded, as a kernel may be able to write to their files. Where
 * they were loaded they must still be, and what is not to be written there (constants, addresses of functions) as it was then.
 */
#include "report.h"

#ifdef __linux__
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536u
#define STEP (16 * PIECE) /* bytes that are worth a thread */
#define MOST_MAPPINGS 4096
#define MOST_PARTS 64 /* of the two objects: mappings */

typedef struct {
    unsigned long from, to, offset;
    char rights[5], path[PATH_BYTES];
} mapping;

typedef struct {
    char path[PATH_BYTES];
    char *bytes;
    size_t size;
} object;

typedef struct {
    mapping at;
    char *bytes; /* NULL where they may be written */
} part;

static object objects[2];
static part parts[MOST_PARTS];
static int part_count;
static mapping own[MOST_MAPPINGS];
static int own_count;
static int readable; /* the worker's memory, and it was as it should be before any object was loaded */

static int next_mapping(FILE *maps, mapping *m) {
    char line[PATH_BYTES + 128];
    if (!fgets(line, sizeof line, maps)) return 0;
    m->path[0] = 0;
    sscanf(line, "%lx-%lx %4s %lx %*s %*s %1023[^\n]", &m->from, &m->to, m->rights, &m->offset, m->path);
    return 1;
}

static FILE *open_maps(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    return fopen(path, "r");
}

int memory_of_worker(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", worker_process());
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void keep(object *o, const char *path) {
    struct stat about;
    char *real = realpath(path, NULL); /* a buffer of its own: realpath may write PATH_MAX bytes */
    if (!real) return;
    snprintf(o->path, sizeof o->path, "%s", real);
    free(real);
    int file = open(o->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (!fstat(file, &about) && (o->bytes = malloc((size_t)about.st_size + 1)) != NULL) {
        ssize_t got = pread(file, o->bytes, (size_t)about.st_size, 0);
        o->size = got > 0 ? (size_t)got : 0;
    }
    close(file);
}

/* What the worker should have at an address: bytes of this process, or of a file. */
typedef struct {
    int memory, file;
    unsigned long at, offset;
    const char *bytes; /* NULL: the file's */
    int differ;
} extent;

static int same_piece(const extent *e, size_t from, const char *bytes, size_t size) {
    char piece[PIECE];
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(e->memory, piece, size - done, (off_t)(e->at + from + done));
        if (got <= 0 || memcmp(piece, bytes + done, (size_t)got)) return 0;
        done += (size_t)got;
    }
    return 1;
}

static void compare_part(void *context, size_t from, size_t to) {
    extent *e = context;
    char piece[PIECE];
    while (from < to) {
        ssize_t size = (ssize_t)(to - from < PIECE ? to - from : PIECE);
        if (!e->bytes) size = pread(e->file, piece, (size_t)size, (off_t)(e->offset + from));
        if (size <= 0) return; /* the rest of the last page is past the file's end */
        int alike = same_piece(e, from, e->bytes ? e->bytes + from : piece, (size_t)size);
        if (!alike) __atomic_store_n(&e->differ, 1, __ATOMIC_RELAXED);
        from += (size_t)size;
    }
}

/* Whether the worker has these bytes at that address. */
static int same(int memory, unsigned long at, const char *bytes, size_t size) {
    extent e = {.memory = memory, .at = at, .bytes = bytes};
    kpd_parallel(size, STEP, compare_part, &e);
    return !e.differ;
}

static int same_as_file(int memory, const mapping *m) {
    extent e = {.memory = memory, .at = m->from, .file = open(m->path, O_RDONLY | O_CLOEXEC), .offset = m->offset};
    if (e.file < 0) return 0;
    kpd_parallel(m->to - m->from, STEP, compare_part, &e);
    close(e.file);
    return !e.differ;
}

static const object *object_at(const char *path) {
    for (int i = 0; i < 2; i++)
        if (objects[i].bytes && !strcmp(objects[i].path, path)) return &objects[i];
    return NULL;
}

/* Code that came after the fork. Code that belongs to no file is a kernel's own. */
static int later(int memory, const mapping *m) {
    const object *o = object_at(m->path);
    if (!m->path[0] || m->path[0] == '[' || strncmp(m->path, "/dev/", 5) == 0 || strstr(m->path, "memfd:")) return 0;
    if (!o) return same_as_file(memory, m);
    size_t length = m->to - m->from;
    if (m->offset >= o->size) return 0;
    return same(memory, m->from, o->bytes + m->offset, o->size - m->offset < length ? o->size - m->offset : length);
}

/* Once the objects are loaded. Not on a GPU, where nobody has seen yet that they stay as they are. */
void mappings_note_parts(void) {
    FILE *maps = readable && !engine_makes_code ? open_maps(worker_process()) : NULL;
    int memory = maps ? memory_of_worker() : -1;
    mapping m;
    while (memory >= 0 && part_count < MOST_PARTS && next_mapping(maps, &m)) {
        size_t size = m.to - m.from;
        if (!object_at(m.path)) continue;
        char *bytes = m.rights[0] == 'r' && m.rights[1] == '-' ? malloc(size) : NULL;
        if (bytes && pread(memory, bytes, size, (off_t)m.from) != (ssize_t)size) {
            free(bytes);
            bytes = NULL;
        }
        parts[part_count++] = (part){m, bytes};
    }
    if (memory >= 0) close(memory);
    if (maps) fclose(maps);
}

/* Whether a part of an object is where it was, though the system may tell it in pieces by now, and as it was. */
static int in_place(int memory, pid_t process, const part *p) {
    FILE *maps = open_maps(process);
    unsigned long covered = 0;
    mapping m;
    while (maps && next_mapping(maps, &m)) {
        unsigned long from = m.from > p->at.from ? m.from : p->at.from, to = m.to < p->at.to ? m.to : p->at.to;
        int alike = !strcmp(m.path, p->at.path) && !strcmp(m.rights, p->at.rights);
        if (from < to && alike && m.from - m.offset == p->at.from - p->at.offset) covered += to - from;
    }
    if (maps) fclose(maps);
    return covered == p->at.to - p->at.from && (!p->bytes || same(memory, p->at.from, p->bytes, covered));
}

/* Before the fork: what the driver loads later, as the library for a GPU's telemetry, lies elsewhere in the worker. */
void mappings_note_own(void) {
    FILE *maps = open_maps(getpid());
    while (maps && own_count < MOST_MAPPINGS && next_mapping(maps, &own[own_count])) {
        const mapping *m = &own[own_count];
        int code = m->path[0] == '/' || !strcmp(m->path, "[vdso]");
        if (code && m->rights[0] == 'r' && m->rights[1] == '-') own_count++;
    }
    if (maps) fclose(maps);
}

/* Where the worker has the variables of an object, and their bytes: what may be written, and what belongs to no file behind it. */
size_t mappings_variables(const char *path, span *spans, int most, int *count) {
    char *real = realpath(path, NULL);
    FILE *maps = real ? open_maps(worker_process()) : NULL;
    unsigned long end = 0;
    size_t bytes = 0;
    mapping m;
    *count = 0;
    while (maps && *count < most && next_mapping(maps, &m)) {
        int its = !strcmp(m.path, real) || (!m.path[0] && m.from == end);
        end = its ? m.to : 0;
        if (!its || strncmp(m.rights, "rw", 2)) continue;
        spans[(*count)++] = (span){m.from, m.to};
        bytes += m.to - m.from;
    }
    if (maps) fclose(maps);
    free(real);
    return bytes;
}

int mappings_contain(uint64_t address) {
    FILE *maps = open_maps(worker_process());
    int found = 0;
    mapping m;
    while (maps && !found && next_mapping(maps, &m)) found = m.from <= address && address < m.to;
    if (maps) fclose(maps);
    return found;
}

typedef struct {
    const char *of, *path; /* NULL: there is none */
} difference;

static difference first_difference(void) {
    int memory = memory_of_worker();
    FILE *maps = open_maps(worker_process());
    static mapping m;
    difference found = {"code", memory < 0 || !maps ? "the worker, which hides its memory" : NULL};
    for (int i = 0; !found.path && i < own_count; i++)
        if (!same(memory, own[i].from, (const char *)own[i].from, own[i].to - own[i].from)) found.path = own[i].path;
    while (!found.path && next_mapping(maps, &m)) {
        int known = m.rights[2] != 'x' || !strcmp(m.path, "[vsyscall]");
        for (int i = 0; !known && i < own_count; i++) known = own[i].from <= m.from && m.to <= own[i].to;
        if (!known && !later(memory, &m)) found.path = m.path;
    }
    for (int i = 0; !found.path && i < part_count; i++)
        if (!in_place(memory, worker_process(), &parts[i])) found = (difference){"memory", parts[i].at.path};
    if (memory >= 0) close(memory);
    if (maps) fclose(maps);
    return found;
}

/* Before any object is loaded. Code that differs by now, as that of a GPU's driver may, says nothing of a kernel: then none is
 * compared. */
void mappings_note(const char *const paths[2]) {
    char byte;
    for (int i = 0; i < 2; i++)
        if (paths[i]) keep(&objects[i], paths[i]);
    int memory = memory_of_worker();
    readable = memory >= 0 && pread(memory, &byte, 1, (off_t)(uintptr_t)&engine_alignment) == 1 && !first_difference().path;
    if (memory >= 0) close(memory);
}

/* 1 when all code of the worker is what it was; otherwise the problem is noted. */
int unpatched(void) {
    difference found = readable ? first_difference() : (difference){NULL, NULL};
    if (!found.path) return 1;
    const char *name = strrchr(found.path, '/');
    blame("forged", CANDIDATE, NULL, timed_name(), "timing");
    snprintf(problem.message, sizeof problem.message, "changed the %s of %s in the measuring process", found.of,
        *found.path ? name ? name + 1 : found.path : "no file");
    return 0;
}

int code_compared(void) { return readable; }

#else
void mappings_note_own(void) {}

void mappings_note(const char *const paths[2]) { (void)paths; }

void mappings_note_parts(void) {}

int unpatched(void) { return 1; }

int code_compared(void) { return 0; }
#endif
