// The floor: what a program must do at least that receives samples, formats them and writes them to a file.
//
// It receives with zmq_msg_recv, takes "sequence" and "count" from a body, checks that no sample is missing, formats each
// number with std::to_chars (the shortest digits that read back as the same value), copies the digits of a JSON body as
// they came, and writes through a buffer of 256 KiB with write(2). It syncs in the same thread. It has no session, no
// markers, no recovery, no report and no second stream.

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "Messages.hpp"
#include "Plain.h"

using namespace plain;

namespace {

class Output {
public:
    Output(const char *path, bool hashes)
        : descriptor(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640)), buffer(size + reserve) {
        if (hashes) {
            digest = EVP_MD_CTX_new();
            EVP_DigestInit_ex(digest, EVP_sha256(), nullptr);
        }
    }
    ~Output() {
        EVP_MD_CTX_free(digest);
        if (descriptor >= 0) close(descriptor);
    }
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    bool is_open() const { return descriptor >= 0; }

    // Where the next bytes go: room for at least `reserve` of them.
    char *begin() {
        if (filled >= size) flush();
        return buffer.data() + filled;
    }
    void end(char *end) { filled = size_t(end - buffer.data()); }

    void append(const char *bytes, size_t count) {
        while (count > 0) {
            char *to = begin();
            size_t part = std::min(count, reserve);
            memcpy(to, bytes, part);
            end(to + part);
            bytes += part;
            count -= part;
        }
    }

    void flush() {
        const char *bytes = buffer.data();
        if (digest) EVP_DigestUpdate(digest, bytes, filled);
        while (filled > 0) {
            ssize_t written = write(descriptor, bytes, filled);
            if (written <= 0) {
                has_failed = true;
                filled = 0;
                return;
            }
            bytes += written;
            filled -= size_t(written);
        }
    }

    void sync() {
        flush();
        if (fdatasync(descriptor) != 0) has_failed = true;
    }

    static constexpr size_t reserve = 8 << 10;
    bool has_failed = false;

private:
    static constexpr size_t size = 256 << 10;
    int descriptor;
    std::vector<char> buffer;
    size_t filled = 0;
    EVP_MD_CTX *digest = nullptr;
};

// Formats the records of one stream.
class Formatter {
public:
    explicit Formatter(const plain_floor_options &options)
        : is_full(options.record == PLAIN_FULL), columns(size_t(options.field_count)) {
        for (size_t column = 0; column < columns; column++) {
            std::string name = options.fields[column];
            pieces.push_back(
                options.is_csv ? (column == 0 ? "\n" : ",")
                               : (column == 0 ? ",\n{\"" : ",\"") + name + "\":");
        }
        if (is_full) {
            std::string step = options.step_path, type = options.sensor_type;
            before_timestamp = options.is_csv ? "," : ",\"timestamp\":";
            after_timestamp = options.is_csv
                                  ? "," + step + "," + type
                                  : ",\"stepPath\":\"" + step + "\",\"sensorType\":\"" + type + "\"";
        }
        last = options.is_csv ? (is_full ? ",,,,,,,,," : "") : "}";
    }

    // Appends rows of little-endian Float64.
    void append_packed(const char *matrix, int64_t rows, Output &output) {
        for (int64_t row = 0; row < rows; row++) {
            char *to = output.begin();
            for (size_t column = 0; column < columns; column++) {
                double value;
                memcpy(&value, matrix, 8);
                matrix += 8;
                to = put(pieces[column], to);
                to = put(value, to);
                if (column == 0 && is_full) to = put_timestamp(value, to);
            }
            output.end(put(last, to));
        }
    }

    // Appends the rows of `"values":[[1,2],[3,4]]`, with their digits as they came.
    // Returns how many there are, or -1 if they are malformed.
    int64_t append_text(std::string_view values, Output &output) {
        const char *from = values.data(), *end = from + values.size();
        int64_t rows = 0;
        while (from < end && *from == '[') {
            from++;
            char *to = output.begin();
            for (size_t column = 0; column < columns; column++) {
                to = put(pieces[column], to);
                const char *first = from;
                while (from < end && *from != ',' && *from != ']') *to++ = *from++;
                if (column == 0 && is_full) {
                    double value = 0;
                    std::from_chars(first, from, value);
                    to = put_timestamp(value, to);
                }
                if (from == end || (*from == ']') != (column + 1 == columns)) return -1;
                from++;
            }
            output.end(put(last, to));
            rows++;
            if (from < end && *from == ',') from++;
        }
        return rows;
    }

private:
    static char *put(const std::string &text, char *to) {
        memcpy(to, text.data(), text.size());
        return to + text.size();
    }
    static char *put(double value, char *to) { return std::to_chars(to, to + 32, value).ptr; }

    // Seconds since the first sample, rounded to whole nanoseconds; step path and sensor type.
    char *put_timestamp(double uptime, char *to) {
        int64_t time = int64_t(std::nearbyint(uptime * 1e9));
        if (origin == INT64_MIN) origin = time;
        to = put(double(time - origin) / 1e9, put(before_timestamp, to));
        return put(after_timestamp, to);
    }

    const bool is_full;
    const size_t columns;
    std::vector<std::string> pieces;
    std::string before_timestamp, after_timestamp, last;
    int64_t origin = INT64_MIN;
};

}  // namespace

int plain_floor(const struct plain_floor_options *options) {
    void *context = zmq_ctx_new();
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "samples/", 8);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "stream/", 7);
    if (options->keys.server) {
        zmq_setsockopt(subscriber, ZMQ_CURVE_SERVERKEY, options->keys.server, 40);
        zmq_setsockopt(subscriber, ZMQ_CURVE_PUBLICKEY, options->keys.own_public, 40);
        zmq_setsockopt(subscriber, ZMQ_CURVE_SECRETKEY, options->keys.own_secret, 40);
    }
    if (zmq_connect(subscriber, options->endpoint) != 0) {
        fprintf(stderr, "zmq_connect %s failed\n", options->endpoint);
        return 1;
    }
    Output output(options->file, options->hashes);
    if (!output.is_open()) {
        fprintf(stderr, "open %s failed\n", options->file);
        return 1;
    }
    Formatter formatter(*options);
    zmq_msg_t frames[4];
    for (zmq_msg_t &frame : frames) zmq_msg_init(&frame);
    const int frame_count = options->is_packed ? 4 : 3;
    int64_t next = 0;
    int64_t messages = 0;
    int64_t last_sync = nanoseconds(CLOCK_MONOTONIC);
    bool is_ready = false;
    while (next < options->samples) {
        int count = 0;
        bool has_more = true;
        while (has_more) {
            zmq_msg_t *frame = &frames[count < 3 ? count : 3];
            if (zmq_msg_recv(frame, subscriber, 0) < 0) {
                fprintf(stderr, "zmq_msg_recv failed\n");
                return 1;
            }
            has_more = zmq_msg_more(frame);
            count++;
        }
        if (!is_ready) {
            is_ready = true;
            printf("ready\n");
            fflush(stdout);
        }
        std::string_view topic(static_cast<char *>(zmq_msg_data(&frames[0])), zmq_msg_size(&frames[0]));
        if (topic.substr(0, 8) != "samples/") continue;
        std::string_view body(static_cast<char *>(zmq_msg_data(&frames[1])), zmq_msg_size(&frames[1]));
        const int64_t rows = integer(body, "\"count\":");
        if (count != frame_count || rows < 1 || integer(body, "\"sequence\":") != next) {
            fprintf(stderr, "a message is not the one that was expected: sample %lld\n", (long long)next);
            return 1;
        }
        const char *matrix = static_cast<const char *>(zmq_msg_data(&frames[3]));
        const size_t bytes = options->is_packed ? zmq_msg_size(&frames[3]) : 0;
        if (options->is_packed && bytes != size_t(rows) * 8 * size_t(options->field_count)) {
            fprintf(stderr, "a matrix has %zu bytes\n", bytes);
            return 1;
        }
        if (options->record == PLAIN_PASS) {
            std::string_view values = options->is_packed ? std::string_view(matrix, bytes) : body;
            output.append(values.data(), values.size());
        } else if (options->is_packed) {
            formatter.append_packed(matrix, rows, output);
        } else if (formatter.append_text(after(body, "\"values\":["), output) != rows) {
            fprintf(stderr, "the values of sample %lld are malformed\n", (long long)next);
            return 1;
        }
        next += rows;
        if ((++messages & 63) == 0) {
            int64_t now = nanoseconds(CLOCK_MONOTONIC);
            if (now - last_sync > options->sync_interval * 1'000'000) {
                output.sync();
                last_sync = now;
            }
        }
    }
    output.sync();
    if (output.has_failed) {
        fprintf(stderr, "writing %s failed\n", options->file);
        return 1;
    }
    printf("done\n");
    fflush(stdout);
    return 0;
}
