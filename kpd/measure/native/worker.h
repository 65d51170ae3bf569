/* What the driver asks of the worker: between requests.c, in the driver, and serve.c, in the worker. */
#ifndef KPD_WORKER_H
#define KPD_WORKER_H

#include "driver.h"

typedef struct {
    enum { LOAD, BEGIN, MOVE, CALL, SQUEEZED, CALL_SOME, CALL_EACH, RESIZE, TIME, AUDIT, FETCH, STOPWATCH, RESUME, FRESH_BEGIN, FRESH, ROW_BEGIN, ROW_PUT, ROW, VARIABLES, HELD, LEAVE } what;
    slot which;
    int number, set, amount;
    uint64_t seed;
    kpd_case size; /* of RESIZE */
    char paths[2][PATH_BYTES];
} request;

/* worker.c: to the worker that is spoken to. One that is no more shows when its answer is waited for. */
void worker_post(const request *asked);

_Noreturn void worker_serve(int line, view *cases, measurement *shared);

#endif
