/* In the worker: it does what the driver asks for, one thing at a time, and says how each ended. */
#include "worker.h"

#include <errno.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int line_to_driver = -1;

static void load(const request *asked, outcome *answer) {
    for (int turn = 0; turn < 2 && answer->how == DONE; turn++) {
        slot which = turn == 0 ? asked->which : (slot)!asked->which;
        if (asked->paths[which][0]) engine_load(asked->paths[which], which, answer);
    }
    if (!calls_seal() && answer->how == DONE) {
        answer->how = REFUSED;
        snprintf(answer->message, sizeof answer->message, "a thread that it starts when it is loaded filters its system calls");
    }
    if (asked->amount && answer->how == DONE) engine_begin();
}

void worker_tell(const outcome *answer) {
    if (send(line_to_driver, answer, sizeof *answer, 0) != (ssize_t)sizeof *answer) _exit(0);
}

static request next_request(void) {
    request asked;
    if (recv(line_to_driver, &asked, sizeof asked, MSG_WAITALL) != (ssize_t)sizeof asked) _exit(0);
    return asked;
}

/* The driver starts its own clock before it lets the timing go on; from then on it may be long until this process runs. */
void worker_begun(uint64_t expected_ns) {
    worker_tell(&(outcome){.how = BEGUN, .code = (int)(expected_ns / 1000)});
    next_request();
    worker_tell(&(outcome){.how = AWAKE});
}

void worker_pause(view *v) {
    worker_tell(&(outcome){.how = PAUSED});
    for (request asked = next_request(); asked.what == FETCH; asked = next_request()) {
        outcome answer = {.how = DONE};
        engine_fetch(v, asked.set, &answer);
        worker_tell(&answer);
    }
    worker_tell(&(outcome){.how = AWAKE});
}

/* With all that is in the buffers, as the driver would copy it. */
static void call_some(view *v, const request *asked, outcome *answer) {
    for (int i = 0; i < asked->amount && answer->how == DONE; i++) {
        fesetenv(FE_DFL_ENV);
        errno = 0;
        memcpy(v->base, v->base + (size_t)(1 + (asked->seed >> i & 1)) * v->bytes, v->bytes);
        engine_call(v, asked->which, 0, 1, answer);
        memcpy(v->base + (size_t)(3 + i) * v->bytes, v->base, v->bytes);
    }
}

static void call_each(view *v, const request *asked, outcome *answer) {
    void *at[KPD_MAX_BUFFERS];
    for (int i = 0; i < asked->amount && answer->how == DONE; i++) {
        arena_pack(v, (size_t)i, at);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) memcpy(v->data[b], at[b], bytes_of(&v->buffers[b]));
        fesetenv(FE_DFL_ENV);
        errno = 0;
        engine_call(v, asked->which, 0, 1, answer);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) memcpy(at[b], v->data[b], bytes_of(&v->buffers[b]));
    }
}

static void resize(view *v, const request *asked) {
    static kpd_case size;
    size = asked->size;
    fence_lower();
    places_leave();
    arena_resize(v, &size, asked->amount);
}

/* Fences stand where the buffers were. */
static void move(view *v, uint64_t drawn, outcome *answer) {
    if (engine_uses_device) return;
    fence_lower();
    places_move(v, drawn, answer);
}

static uint64_t last_word;

/* Registered before any object is loaded, so it is called after all that these have registered. */
static void say_last_word(void) {
    if (last_word) send(line_to_driver, &last_word, sizeof last_word, 0);
}

void worker_serve(int line, view *cases, measurement *shared) {
    line_to_driver = line;
    atexit(say_last_word);
    outcome answer = {.how = DONE};
    if (engine_fences) fence_watch();
    if (!engine_uses_device) places_try(cases);
    engine_start(shared, cases, &answer);
    for (;;) {
        worker_tell(&answer);
        request asked = next_request();
        memset(&answer, 0, sizeof answer);
        view *v = &cases[asked.number];
        fesetenv(FE_DFL_ENV);
        errno = 0;
        switch (asked.what) {
        case LOAD: load(&asked, &answer); break;
        case BEGIN: engine_begin(); break;
        case MOVE: move(v, asked.seed, &answer); break;
        case CALL:
            fence_raise(v, &answer);
            if (answer.how == DONE) engine_call(v, asked.which, asked.set, asked.amount, &answer);
            break;
        case SQUEEZED: engine_squeezed(v, asked.which, &answer); break;
        case CALL_SOME: call_some(v, &asked, &answer); break;
        case CALL_EACH: call_each(v, &asked, &answer); break;
        case RESIZE: resize(v, &asked); break;
        case TIME: engine_time(v, asked.amount, asked.seed, &answer); break;
        case AUDIT: engine_audit(v, asked.which, asked.set, &answer); break;
        case FETCH: engine_fetch(v, asked.set, &answer); break;
        case STOPWATCH: engine_stopwatch(v, asked.amount, &answer); break;
        case FRESH_BEGIN: engine_fresh_begin(v, asked.seed, &answer); break;
        case FRESH: engine_fresh(v, asked.which, asked.set, &answer); break;
        case ROW_BEGIN: engine_row_begin(v, &answer); break;
        case ROW_PUT: engine_row_put(v, asked.set, &answer); break;
        case ROW: engine_row(v, asked.which, asked.amount, &answer); break;
        case VARIABLES: engine_variables(v, asked.amount, &answer); break;
        case HELD: engine_held(&answer); break;
        case RESUME: break;
        case LEAVE:
            last_word = asked.seed;
            exit(asked.amount); /* with all that an object has registered for that */
        }
    }
}
