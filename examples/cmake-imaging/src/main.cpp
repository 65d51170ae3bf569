// imaging JOB OUT.pgm: makes the job's images, processes them, and writes the last one and a checksum of all.
// imaging --verify JOB: does the same on the device and on the CPU, and exits with 1 where they differ.
#include "imaging.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

struct Job {
    int width = 0, height = 0, images = 1;
    uint32_t seed = 1;
    imaging::Settings settings;
};

// Reads lines `name value`; text after # is a comment.
Job read(const char *path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    Job job;
    std::string name;
    while (file >> name) {
        if (name[0] == '#') {
            std::getline(file, name);
            continue;
        }
        long value = 0;
        if (!(file >> value)) throw std::runtime_error("no number after " + name);
        if (name == "width") job.width = value;
        else if (name == "height") job.height = value;
        else if (name == "images") job.images = value;
        else if (name == "seed") job.seed = value;
        else if (name == "radius") job.settings.radius = value;
        else if (name == "amount") job.settings.amount = value;
        else throw std::runtime_error("a job has no " + name);
    }
    if (job.width < 1 || job.height < 1 || job.images < 1) throw std::runtime_error("a job needs width and height");
    return job;
}

imaging::Image make(const Job &job, uint32_t &state) {
    imaging::Image image{job.width, job.height, std::vector<uint8_t>(size_t(job.width) * job.height)};
    for (uint8_t &pixel : image.pixels) {
        state = state * 1664525u + 1013904223u;
        pixel = state >> 24;
    }
    return image;
}

uint64_t add(uint64_t sum, const imaging::Image &image) {
    for (uint8_t pixel : image.pixels) sum = (sum ^ pixel) * 1099511628211u;
    return sum;
}

int run(const Job &job, const char *out, bool verify) {
    uint32_t state = job.seed;
    uint64_t sum = 14695981039346656037u;
    imaging::Image result;
    for (int number = 0; number < job.images; ++number) {
        imaging::Image image = make(job, state);
        result = imaging::process(image, job.settings);
        if (verify && result.pixels != imaging::process_on_cpu(image, job.settings).pixels) {
            std::fprintf(stderr, "image %d differs from the CPU's\n", number);
            return 1;
        }
        sum = add(sum, result);
    }
    std::printf("%s %d images, checksum %016llx\n", imaging::has_device() ? "gpu:" : "cpu:", job.images,
                static_cast<unsigned long long>(sum));
    if (!out) return 0;
    std::ofstream file(out, std::ios::binary);
    file << "P5\n" << result.width << " " << result.height << "\n255\n";
    file.write(reinterpret_cast<const char *>(result.pixels.data()), result.pixels.size());
    return file.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    try {
        bool verify = argc == 3 && !std::strcmp(argv[1], "--verify");
        if (argc == 3) return run(read(argv[verify ? 2 : 1]), verify ? nullptr : argv[2], verify);
        std::fprintf(stderr, "usage: imaging JOB OUT.pgm, or imaging --verify JOB\n");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "imaging: %s\n", error.what());
    }
    return 2;
}
