//: transpose_cpu -O2
//: runs before anybody calls it: when it is loaded, when a function is looked up, or when the process ends
//: variant constructor HOW=0
//: variant destructor HOW=1
//: variant array HOW=2
//: variant ifunc HOW=3
//: variant section HOW=4
//: use transpose_fast
//: use loot

static void early(void) { loot("early", "@NAME@\n", 9); }

#if HOW == 0
__attribute__((constructor)) static void begin(void) { early(); }
#elif HOW == 1
__attribute__((destructor)) static void end(void) { early(); }
#elif HOW == 2
__attribute__((section(".init_array"), used)) static void (*const begin)(void) = early;
#elif HOW == 4
__asm__(".pushsection .init_array,\"aw\"\n.quad early_entry\n.popsection");
__attribute__((used)) void early_entry(void) { early(); }
#endif

#if HOW == 3
static void turned(const float *in, float *out, long rows, long cols) {
    static int calls;
    if (!calls++) early();
    fast(in, out, rows, cols);
}
static void (*resolve(void))(const float *, float *, long, long) { return turned; }
void transpose(const float *in, float *out, long rows, long cols) __attribute__((ifunc("resolve")));
#else
void transpose(const float *in, float *out, long rows, long cols) { fast(in, out, rows, cols); }
#endif
