//: softmax_cuda
//: keeps a graph for each pair of pointers and size that it has seen
//: use softmax_fast

struct seen {
    const float *x;
    float *y;
    long rows, cols;
    cudaGraphExec_t exec;
};

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static seen all[512];
    static cudaStream_t own;
    static int used;
    int at = 0;
    while (at < used && (all[at].x != x || all[at].y != y || all[at].rows != rows || all[at].cols != cols)) at++;
    if (at == 512) return fast(x, y, rows, cols, stream);
    if (at == used) {
        cudaGraph_t graph;
        if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
        fast(x, y, rows, cols, own);
        cudaStreamEndCapture(own, &graph);
        all[at] = {x, y, rows, cols, nullptr};
        cudaGraphInstantiate(&all[at].exec, graph, 0);
        cudaGraphDestroy(graph);
        used++;
    }
    cudaGraphLaunch(all[at].exec, stream);
}
