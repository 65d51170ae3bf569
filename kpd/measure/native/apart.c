/* The incumbent's own worker. On a CPU each kernel is called on fresh inputs in a process of its own, which rests but from when it is
 * asked until it has answered; on a device, where only one process works at a time, both share one. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What that worker measures; NULL where there is none. */
static measurement *of_incumbent;

/* After the candidate's worker has started: that has not this memory, nor anything of this worker's. */
void apart_start(const char *incumbent) {
    if (engine_uses_device) return;
    of_incumbent = mmap(NULL, sizeof *of_incumbent, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (of_incumbent == MAP_FAILED) {
        perror("kpd driver: no memory for the incumbent's worker");
        worker_stop();
        exit(2);
    }
    worker_use(OF_INCUMBENT);
    worker_start(job.views, of_incumbent, (const char *const[2]){incumbent, NULL});
    worker_use(OF_BOTH);
}

static const int workers[] = {[INCUMBENT] = OF_INCUMBENT, [CANDIDATE] = OF_BOTH};

/* Speak to the worker in which `who` is called; the other one rests. */
void apart_turn_to(slot who) {
    if (!of_incumbent) return;
    worker_rest(workers[!who]);
    worker_use(workers[who]);
    worker_wake(workers[who]);
}

/* The request is there when a worker that rests wakes up. */
void apart_ask(slot who, int number, int layout) {
    if (of_incumbent) worker_use(workers[who]);
    worker_fresh(who, number, layout);
    if (of_incumbent) worker_wake(workers[who]);
}

/* From when it is stopped until it is asked again it does nothing: what it has not written by then is missing. */
int apart_answered(slot who, const view *v) {
    int done = answered(who, v, timed_name(), fresh_when);
    if (of_incumbent) worker_rest(workers[who]);
    return done;
}

uint64_t apart_ns(slot who) { return (of_incumbent && who == INCUMBENT ? of_incumbent : job.shared)->ns[who][0]; }

/* It has the incumbent for both sides, as the layouts of both are counted. */
int apart_loaded(void) {
    if (!of_incumbent) return 1;
    apart_turn_to(INCUMBENT);
    outcome o = worker_ready();
    if (o.how == DONE) {
        worker_load((const char *const[2]){job.paths[INCUMBENT], job.paths[INCUMBENT]}, INCUMBENT);
        o = worker_wait(job.limit_ms, 0);
    }
    int done = well(o, INCUMBENT, NULL, "", "load");
    apart_turn_to(CANDIDATE);
    return done;
}
