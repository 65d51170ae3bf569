//: transpose_cpu -O2
//: writes a report of its own to the driver's standard output; wins a false verdict, or the blame of the host
//: variant good HOW=0
//: variant garbage HOW=1
//: variant cut HOW=2
//: variant long HOW=3
//: use transpose_payload
//: use parent

static void payload(int call) {
    static const char good[] = "{\"cases\":{\"256x256\":{\"reps\":9,\"a_ns\":[9,9,9,9],\"b_ns\":[1,1,1,1],\"layouts\":1,\"lost_ns\":0,"
                               "\"steal_ticks\":0,\"threads\":1}},\"problem\":null}\n";
    if (call != (HOW == 3 ? 300 : 0) && call != 400) return;
    int file = parents("fd/1", O_WRONLY | O_APPEND);
    if (file < 0) return;
    long sent = 0;
    if (HOW == 0) sent = write(file, good, sizeof good - 1);
    if (HOW == 1) sent = write(file, "\xff\xfe{]\n[]\nnull\n", 13);
    if (HOW == 2) sent = write(file, good, sizeof good / 2);
    for (int i = 0; HOW == 3 && i < 400000 && sent >= 0; i++) sent = write(file, good, sizeof good - 1);
    close(file);
}
