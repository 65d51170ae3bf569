/* What the driver asks of the worker, one thing at a time: each is a message, whose answer is waited for in worker.c. */
#include "worker.h"

#include <stdio.h>

/* A path with a slash is looked up nowhere else. */
void object_path(char to[PATH_BYTES], const char *given) {
    snprintf(to, PATH_BYTES, "%s%s", strchr(given, '/') ? "" : "./", given);
}

static void post_load(const char *const paths[2], slot first, int begins) {
    request asked = {.what = LOAD, .which = first, .amount = begins};
    for (int i = 0; i < 2; i++)
        if (paths[i]) object_path(asked.paths[i], paths[i]);
    worker_post(&asked);
}

void worker_load(const char *const paths[2], slot first) { post_load(paths, first, 1); }

void worker_load_only(const char *const paths[2], slot first) { post_load(paths, first, 0); }

void worker_begin(void) { worker_post(&(request){.what = BEGIN}); }

/* The kernel finds the buffers at other addresses from now on. */
void worker_move(int number, uint64_t drawn) { worker_post(&(request){.what = MOVE, .number = number, .seed = drawn}); }

void worker_call(slot which, int number, int set, int reps) {
    worker_post(&(request){.what = CALL, .which = which, .number = number, .set = set, .amount = reps});
}

/* One, with few of a device's multiprocessors. */
void worker_call_squeezed(slot which, int number) { worker_post(&(request){.what = SQUEEZED, .which = which, .number = number}); }

/* Several calls, on part 1 or 2 of the shared memory (arena_copy) by the bits of `order`; their results go to the parts from 3 on. */
void worker_call_some(slot which, int number, int count, uint64_t order) {
    worker_post(&(request){.what = CALL_SOME, .which = which, .number = number, .amount = count, .seed = order});
}

/* Several calls, each on what one of the packs behind the buffers has (arena_pack), which gets what it leaves. */
void worker_call_each(slot which, int number, int count) {
    worker_post(&(request){.what = CALL_EACH, .which = which, .number = number, .amount = count});
}

void worker_resize(int number, const kpd_case *size, int fenced) {
    worker_post(&(request){.what = RESIZE, .number = number, .amount = fenced, .size = *size});
}

void worker_time(int number, int quads, uint64_t seed) {
    worker_post(&(request){.what = TIME, .number = number, .amount = quads, .seed = seed});
}

void worker_audit(slot which, int number, int first_set) {
    worker_post(&(request){.what = AUDIT, .which = which, .number = number, .set = first_set});
}

void worker_fetch(int number, int set) { worker_post(&(request){.what = FETCH, .number = number, .set = set}); }

void worker_fresh_begin(int number, uint64_t seed) { worker_post(&(request){.what = FRESH_BEGIN, .number = number, .seed = seed}); }

void worker_fresh(slot which, int number, int layout) {
    worker_post(&(request){.what = FRESH, .which = which, .number = number, .set = layout});
}

void worker_row_begin(int number) { worker_post(&(request){.what = ROW_BEGIN, .number = number}); }

void worker_row_put(int number, int set) { worker_post(&(request){.what = ROW_PUT, .number = number, .set = set}); }

void worker_row(slot which, int number, int calls) {
    worker_post(&(request){.what = ROW, .which = which, .number = number, .amount = calls});
}

/* Between the device and what lies behind the buffers. */
void worker_variables(int number, int back) { worker_post(&(request){.what = VARIABLES, .number = number, .amount = back}); }

void worker_held(void) { worker_post(&(request){.what = HELD}); }

void worker_resume(void) { worker_post(&(request){.what = RESUME}); }

void worker_stopwatch(int number, int calls) { worker_post(&(request){.what = STOPWATCH, .number = number, .amount = calls}); }
