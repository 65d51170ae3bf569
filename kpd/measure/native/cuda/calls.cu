/* Calls whose results are looked at. They are made as an operator's program may make them: half of them on a stream that does not
 * wait for the default one, on which timed calls are; some with inputs that arrive late, and some while other work has most of the
 * device. A launcher that does not name the stream that it was given finds no inputs, nor does a kernel that is launched as one
 * that waits for them by itself, and does not; one that counts on all its blocks being there, or done, after some time finds that
 * they are not; one that knows by one buffer where the others are finds one of them elsewhere. Which calls have what is drawn.
 */
#include "device.h"

#include <stdio.h>

#define LATE 4              /* in one of so many calls the inputs arrive late … */
#define LATE_NS 50000u      /* … by so long after the launch, … */
#define LATEST_NS 250000u   /* … which may take so long: who waits for its stream in the launcher waits for that; … */
#define BRINGS 4            /* … brought by one in so many multiprocessors: on these no kernel begins that has other shared memory */
#define CROWDED 8           /* in one of so many the device has other work … */
#define CROWD_NS 500000u    /* … for so long at the most: who waits for the device in its launcher waits for that; … */
#define LAUNCHED_NS 250000u /* … else until so long after the launch */
#define KNOWN 2      /* after so many calls of a case, as what a launcher makes once must not be made in a graph, one is captured … */
#define CAPTURED 4   /* … and then one of so many of those on a stream of its own */
#define APART 4      /* one of so many after that, and the call before, finds one of its buffers elsewhere */
#define NOTHING 0xFF /* is where it was: as a floating-point number none */
#define BLOCK 512        /* threads of a block: a whole number of these take all that a multiprocessor has */
#define ROOM 6           /* for so many other blocks of that size there is room: of a kernel's blocks few run at a time */

static cudaStream_t own, crowd;
static gate_t late, crowded;
static int processors, blocks;

static int streams_made(outcome *answer) {
    int threads = 0;
    if (own) return 1;
    if (!fine(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), answer)) return 0;
    if (!fine(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0), answer)) return 0;
    blocks = processors * (threads / BLOCK) - ROOM;
    return fine(cudaStreamCreateWithFlags(&crowd, cudaStreamNonBlocking), answer) && gate_made(&late, answer) &&
           gate_made(&crowded, answer) && fine(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), answer);
}

/* Launch as a part of a graph; a launcher that cannot be captured, as it waits for its stream, as it is. One that leaves work on
 * streams that its own does not wait for is told here for certain: elsewhere such work may be done in time. */
static void launch_in_graph(const view *v, slot which, int set, outcome *answer) {
    static cudaGraphExec_t made; /* kept until the next one: the device may still be at it */
    cudaGraph_t graph = NULL;
    outcome said = {DONE};
    if (made) cudaGraphExecDestroy(made);
    made = NULL;
    if (!fine(cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed), answer)) return;
    launch(v, which, set, own);
    cudaError_t captured = cudaStreamEndCapture(own, &graph);
    int able = captured == cudaSuccess && cudaGraphInstantiate(&made, graph, 0) == cudaSuccess;
    if (graph) cudaGraphDestroy(graph);
    able &= launched(which, &said);
    cudaGetLastError();
    if (captured == cudaErrorStreamCaptureUnjoined) {
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message, "leaves work on a stream of its own that the caller's stream does not wait for");
    } else if (able) fine(cudaGraphLaunch(made, own), answer);
    else launch(v, which, set, own);
}

/* Carry a buffer, and what lies around it, from one set to another, and leave nothing where it was. */
static int carried(const view *v, size_t b, char *from, char *to, cudaStream_t stream, outcome *answer) {
    unsigned char *begin, *end, *inner;
    arena_band(v, b, 0, &begin, &inner);
    arena_band(v, b, 1, &inner, &end);
    size_t at = (size_t)((char *)begin - v->base), bytes = (size_t)(end - begin);
    return fine(cudaMemcpyAsync(to + at, from + at, bytes, cudaMemcpyDeviceToDevice, stream), answer) &&
           fine(cudaMemsetAsync(from + at, NOTHING, bytes, stream), answer);
}

/* Launch while one of its buffers is elsewhere. */
static void launch_apart(const view *v, slot which, int set, size_t b, cudaStream_t stream, outcome *answer) {
    char *home = sets.memory + (size_t)set * sets.stride;
    if (!carried(v, b, home, sets.spare, stream, answer)) return;
    sets.buffers[set][b] = sets.spare + v->offset[b];
    launch(v, which, set, stream);
    sets.buffers[set][b] = home + v->offset[b];
    carried(v, b, sets.spare, home, stream, answer);
}

/* On what the host's memory holds, where the results are then. */
void engine_call(view *v, slot which, int set, int reps, outcome *answer) {
    if (!sets_hold(v, set + 1, answer) || !streams_made(answer)) return;
    char *to = sets.memory + (size_t)set * sets.stride;
    uint64_t drawn = kpd_mixed(now_ns());
    int beside = drawn % CROWDED == 0 && blocks > 0, delayed = drawn / CROWDED % LATE == 0;
    int aside = drawn / CROWDED / LATE % 2 == 0, chosen = drawn / CROWDED / LATE / 2 % CAPTURED == 0;
    static struct {
        const view *of;
        int placed, calls;
    } known;
    if (known.of != v || known.placed != v->placed) known = {v, v->placed, 0};
    int before = known.calls++, captured = reps == 1 && (before == KNOWN || (before > KNOWN && aside && chosen));
    uint64_t rest = drawn / CROWDED / LATE / 2 / CAPTURED;
    int apart = reps == 1 && !captured && sets.spare && (before == KNOWN - 1 || (before > KNOWN && rest % APART == 0));
    cudaStream_t stream = aside || captured ? own : 0;
    if (beside) gate_closed(&crowded, blocks, BLOCK, CROWD_NS, crowd);
    for (int i = 0; i < reps; i++) {
        if ((!i || v->in_place) && !fine(cudaMemcpyAsync(to, v->base, v->bytes, cudaMemcpyHostToDevice, stream), answer)) break;
        if (!i && delayed) inputs_late(&late, to, v->bytes, 1 + processors / BRINGS, LATEST_NS, stream);
        if (captured) launch_in_graph(v, which, set, answer);
        else if (apart) launch_apart(v, which, set, rest / APART % kpd_task.buffer_count, stream, answer);
        else launch(v, which, set, stream);
        if (!i && delayed) wait_on_host(LATE_NS), gate_opened(&late);
    }
    if (beside) wait_on_host(LAUNCHED_NS), gate_opened(&crowded);
    if (!launched(which, answer)) return;
    if (!fine(cudaMemcpyAsync(v->base, to, v->bytes, cudaMemcpyDeviceToHost, stream), answer)) return;
    if (fine(cudaStreamSynchronize(stream), answer)) fine(cudaDeviceSynchronize(), answer);
}
