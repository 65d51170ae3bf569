/* The driver's half of the CUDA engine: what the GPU says of itself during a timing, through NVML where that is installed,
 * and the report of what only a GPU's timing has. */
#include "report.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libnvidia-ml.so.1"

/* NVML's types and constants, of nvml.h, as far as they are needed: hosts have the library, but seldom the header. */
typedef void *nvml_device;
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0, IDLE = 1 };

enum { LOOK_MS = 20 }; /* from one reading to the next */

static struct {
    int tried;
    nvml_device device;
    int (*clock)(nvml_device, int, unsigned *mhz);
    int (*power)(nvml_device, unsigned *milliwatts);
    int (*temperature)(nvml_device, int, unsigned *celsius);
    int (*reasons)(nvml_device, unsigned long long *);
} nvml;

typedef struct {
    unsigned sm_mhz, memory_mhz, milliwatts, celsius;
    unsigned long long reasons; /* why the clocks are not higher: NVML's bits */
    int known;
} reading;

static reading least, greatest; /* of all readings of a case; known: there is one since the last report */

static void *symbol(void *library, const char *name) { return library ? dlsym(library, name) : NULL; }

/* The device that CUDA uses: named by its UUID, or the only one. */
static int found(void *library) {
    int (*by_uuid)(const char *, nvml_device *) = symbol(library, "nvmlDeviceGetHandleByUUID");
    int (*by_index)(unsigned, nvml_device *) = symbol(library, "nvmlDeviceGetHandleByIndex_v2");
    int (*count)(unsigned *) = symbol(library, "nvmlDeviceGetCount_v2");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    unsigned devices = 0;
    if (visible && (!strncmp(visible, "GPU-", 4) || !strncmp(visible, "MIG-", 4)))
        return by_uuid && !by_uuid(visible, &nvml.device);
    return count && by_index && !count(&devices) && devices == 1 && !by_index(0, &nvml.device);
}

static int there(void) {
    if (nvml.tried) return nvml.device != NULL;
    nvml.tried = 1;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int (*init)(void) = symbol(library, "nvmlInit_v2");
    nvml.clock = symbol(library, "nvmlDeviceGetClockInfo");
    nvml.power = symbol(library, "nvmlDeviceGetPowerUsage");
    nvml.temperature = symbol(library, "nvmlDeviceGetTemperature");
    nvml.reasons = symbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    int whole = init && nvml.clock && nvml.power && nvml.temperature && nvml.reasons;
    if (!whole || init() || !found(library)) nvml.device = NULL;
    return nvml.device != NULL;
}

static reading now(void) {
    reading r = {0};
    r.known = there() && !nvml.clock(nvml.device, CLOCK_SM, &r.sm_mhz) && !nvml.clock(nvml.device, CLOCK_MEMORY, &r.memory_mhz) &&
              !nvml.power(nvml.device, &r.milliwatts) && !nvml.temperature(nvml.device, TEMPERATURE_GPU, &r.celsius) &&
              !nvml.reasons(nvml.device, &r.reasons);
    return r;
}

static void spread(unsigned *low, unsigned *high, unsigned seen) {
    if (seen < *low) *low = seen;
    if (seen > *high) *high = seen;
}

/* What is read while nothing runs counts only as long as there is nothing else. */
int engine_look(void) {
    reading r = now();
    if (!r.known) return 0;
    if (!least.known || ((least.reasons & IDLE) && !(r.reasons & IDLE))) least = greatest = r;
    if ((r.reasons & IDLE) && !(least.reasons & IDLE)) return LOOK_MS;
    spread(&least.sm_mhz, &greatest.sm_mhz, r.sm_mhz);
    spread(&least.memory_mhz, &greatest.memory_mhz, r.memory_mhz);
    spread(&least.milliwatts, &greatest.milliwatts, r.milliwatts);
    spread(&least.celsius, &greatest.celsius, r.celsius);
    least.reasons = greatest.reasons |= r.reasons;
    return LOOK_MS;
}

static void print_telemetry(void) {
    const reading *a = &least, *b = &greatest;
    if (!a->known) {
        printf(",\"telemetry\":null");
        return;
    }
    printf(",\"telemetry\":{\"sm_mhz\":[%u,%u],\"mem_mhz\":[%u,%u]", a->sm_mhz, b->sm_mhz, a->memory_mhz, b->memory_mhz);
    printf(",\"power_w\":[%.3f,%.3f],\"temp_c\":[%u,%u]", a->milliwatts / 1e3, b->milliwatts / 1e3, a->celsius, b->celsius);
    printf(",\"reasons\":%llu}", b->reasons);
    least.known = 0;
}

void engine_report(const measurement *m) {
    if (m->warm_quads) {
        printf(",\"warm\":{\"reps\":%d,", m->reps);
        print_batches("a_ns", m->warm_ns[INCUMBENT], 2 * m->warm_quads);
        putchar(',');
        print_batches("b_ns", m->warm_ns[CANDIDATE], 2 * m->warm_quads);
        putchar('}');
    }
    int known = m->device_ns[INCUMBENT] > 0.0 && m->device_ns[CANDIDATE] > 0.0;
    if (known) printf(",\"device_ns\":[%.1f,%.1f]", m->device_ns[INCUMBENT], m->device_ns[CANDIDATE]);
    else printf(",\"device_ns\":null");
    const char *waits[2] = {m->synchronises[INCUMBENT] ? "true" : "false", m->synchronises[CANDIDATE] ? "true" : "false"};
    printf(",\"synchronises\":[%s,%s]", waits[INCUMBENT], waits[CANDIDATE]);
    print_telemetry();
}
