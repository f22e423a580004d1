// A table as a device exports it: three axes at 100 Hz.

#include <charconv>
#include <cstdio>

#include "Plain.h"

namespace {
constexpr int64_t start = 1795255200000;
constexpr int64_t interval = 10;

// From -1 to 1, always the same.
struct Noise {
    uint64_t state = 1;

    double next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (double)(state >> 11) / (double)(1ull << 52) - 1;
    }
};
}

int plain_table(const char *file, int64_t samples) {
    FILE *output = fopen(file, "wx");
    if (!output) {
        fprintf(stderr, "%s can't be made\n", file);
        return 1;
    }
    Noise noise;
    fputs("time,x,y,z\n", output);
    for (int64_t sample = 0; sample < samples; sample++) {
        int64_t time = start + sample * interval;
        fprintf(output, "%lld.%03d", (long long)(time / 1000), (int)(time % 1000));
        for (int axis = 0; axis < 3; axis++) {
            char text[32];
            auto end = std::to_chars(text, text + sizeof text, noise.next()).ptr;
            fputc(',', output);
            fwrite(text, 1, (size_t)(end - text), output);
        }
        fputc('\n', output);
    }
    return fclose(output) == 0 ? 0 : 1;
}
