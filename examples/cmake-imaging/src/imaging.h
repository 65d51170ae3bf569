// Blurs, sharpens and equalises grey images. All arithmetic is in integers: every device gives the same bytes.
#pragma once
#include <cstdint>
#include <vector>

namespace imaging {

struct Image {
    int width = 0, height = 0;
    std::vector<uint8_t> pixels;
};

struct Settings {
    int radius = 3;   // of the blur, in pixels
    int amount = 64;  // of the sharpening, in 1/64
};

// Whether this build has kernels, and this machine a device that runs them.
bool has_device();

// The pipeline on the device where there is one, else on the CPU. Throws std::runtime_error.
Image process(const Image &image, const Settings &settings);

// The same on the CPU: what the device's result is checked against.
Image process_on_cpu(const Image &image, const Settings &settings);

}  // namespace imaging
