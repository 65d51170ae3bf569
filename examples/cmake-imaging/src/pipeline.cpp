#include "imaging.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#ifdef IMAGING_CUDA
#include "kernels.h"
#endif

namespace imaging {
namespace {

using Histogram = unsigned[256];

void run_on_cpu(const Image &image, const Settings &settings, std::vector<uint8_t> &out, Histogram histogram) {
    int w = image.width, h = image.height, r = settings.radius, count = (2 * r + 1) * (2 * r + 1);
    const uint8_t *in = image.pixels.data();
    for (int y = 0; y < h; ++y) {
        for (int x = 0; x < w; ++x) {
            int sum = 0;
            for (int dy = -r; dy <= r; ++dy)
                for (int dx = -r; dx <= r; ++dx)
                    sum += in[std::clamp(y + dy, 0, h - 1) * w + std::clamp(x + dx, 0, w - 1)];
            int at = y * w + x, blurred = (sum + count / 2) / count;
            out[at] = std::clamp(in[at] + (in[at] - blurred) * settings.amount / 64, 0, 255);
            ++histogram[out[at]];
        }
    }
}

// Spreads the grey values over the whole range, by the share of pixels that are darker.
void equalise(std::vector<uint8_t> &pixels, const Histogram histogram) {
    uint8_t to[256];
    uint64_t darker = 0;
    for (int value = 0; value < 256; ++value) {
        to[value] = darker * 255 / pixels.size();
        darker += histogram[value];
    }
    for (uint8_t &pixel : pixels) pixel = to[pixel];
}

}  // namespace

bool has_device() {
#ifdef IMAGING_CUDA
    int count = 0;
    return imaging_devices(&count) == 0 && count > 0;
#else
    return false;
#endif
}

Image process_on_cpu(const Image &image, const Settings &settings) {
    Image out{image.width, image.height, std::vector<uint8_t>(image.pixels.size())};
    Histogram histogram = {};
    run_on_cpu(image, settings, out.pixels, histogram);
    equalise(out.pixels, histogram);
    return out;
}

Image process(const Image &image, const Settings &settings) {
    if (!has_device()) return process_on_cpu(image, settings);
    Image out{image.width, image.height, std::vector<uint8_t>(image.pixels.size())};
#ifdef IMAGING_CUDA
    Histogram histogram = {};
    int error = imaging_run(image.pixels.data(), out.pixels.data(), image.width, image.height, settings.radius,
                            settings.amount, histogram);
    if (error) throw std::runtime_error("CUDA error " + std::to_string(error));
    equalise(out.pixels, histogram);
#endif
    return out;
}

}  // namespace imaging
