// The load: many streams, published on schedule, for measurements in which the real publisher would be the limit.
//
// The batches of all streams are spread evenly over the time from one batch to the next. A sample is computed from its
// stream and sequence, so each can be replayed, and nothing is kept: the values are those of a table of sines, with all
// their digits. What differs from batch to batch is the sequence, the clock and the time.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "Messages.hpp"
#include "Plain.h"

using namespace plain;

namespace {

constexpr const char *epoch = "5C2B6E0A-7D1F-4B57-9D39-2F2F6E1B0C4E";
constexpr const char *fields = "[\"uptime\",\"x\",\"y\",\"z\"]";
constexpr int columns = 4;
constexpr int64_t second = 1'000'000'000;
// As the real publisher: about so many bytes of samples in a reply.
constexpr int64_t maximum_reply = 4'000'000;

// One instant on the clocks, as text.
struct Instant {
    char uptime[32], elapsed[32], date[40];

    Instant() {
        write_seconds(nanoseconds(CLOCK_MONOTONIC), uptime);
        write_seconds(nanoseconds(CLOCK_BOOTTIME), elapsed);
        int64_t now = nanoseconds(CLOCK_REALTIME);
        time_t seconds = now / second;
        tm parts;
        gmtime_r(&seconds, &parts);
        size_t count = strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
        snprintf(date + count, sizeof date - count, ".%06dZ", int(now % second / 1'000));
    }

    static void write_seconds(int64_t time, char *to) {
        snprintf(to, 32, "%lld.%09lld", (long long)(time / second), (long long)(time % second));
    }
};

void append_number(std::string &text, int64_t number) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

class Load {
public:
    explicit Load(const plain_load_options &options)
        : options(options), period(second * options.batch / options.rate), streams(size_t(options.streams)),
          published(new std::atomic<int64_t>[size_t(options.streams)]()), table(4'096) {
        for (size_t index = 0; index < table.size(); index++) {
            Point &point = table[index];
            for (int axis = 0; axis < 3; axis++) {
                point.values[axis] = std::sin(0.013 * double(index) + 2.1 * axis);
                point.text += ',';
                char digits[32];
                point.text.append(digits, std::to_chars(digits, digits + 32, point.values[axis]).ptr);
            }
            point.text += ']';
        }
        for (int32_t number = 0; number < options.streams; number++) {
            Stream &stream = streams[size_t(number)];
            std::string device = "d" + std::to_string(number);
            stream.sample_topic = "samples/" + device + "/motion";
            stream.stream_topic = "stream/" + device + "/motion";
            stream.device = device;
            stream.before_sequence =
                ",\"device\":\"" + device + "\",\"epoch\":\"" + epoch + "\",\"fields\":" + fields
                + ",\"schema\":\"samples.v1\",\"sequence\":";
        }
        after_sequence = ",\"source\":\"benchmarks\",\"stream\":\"motion\"";
    }

    int run() {
        void *context = zmq_ctx_new();
        void *publisher = zmq_socket(context, ZMQ_PUB);
        zmq_setsockopt(publisher, ZMQ_SNDHWM, &options.high_water_mark, sizeof options.high_water_mark);
        void *replier = zmq_socket(context, ZMQ_REP);
        if (zmq_bind(publisher, "tcp://127.0.0.1:*") != 0 || zmq_bind(replier, "tcp://127.0.0.1:*") != 0) {
            fprintf(stderr, "zmq_bind failed\n");
            return 1;
        }
        replay = last_endpoint(replier);
        start = nanoseconds(CLOCK_MONOTONIC) + second / 10;
        printf("%s %s\n", last_endpoint(publisher).c_str(), replay.c_str());
        fflush(stdout);
        std::thread answering([this, replier] { answer(replier); });
        publish(publisher);
        is_ending = true;
        answering.join();
        int64_t total = 0;
        for (int32_t number = 0; number < options.streams; number++) total += published[size_t(number)];
        printf("%lld %lld\n", (long long)total, (long long)latest);
        fflush(stdout);
        return 0;
    }

private:
    struct Stream {
        std::string device, sample_topic, stream_topic, before_sequence;
    };
    struct Point {
        double values[3];
        std::string text;
    };

    // When a sample is due, in nanoseconds of the monotonic clock.
    int64_t time_of(size_t stream, int64_t sequence) const {
        int64_t offset = period * int64_t(stream) / options.streams;
        return start + offset + sequence * second / options.rate;
    }

    const Point &point_of(size_t stream, int64_t sequence) const {
        return table[(size_t(sequence) + stream * 37) % table.size()];
    }

    void write_body(std::string &body, size_t stream, int64_t from, int64_t count, const Instant &now) const {
        body.assign("{\"clock\":{\"date\":\"").append(now.date).append("\",\"uptime\":").append(now.uptime);
        body.append("},\"count\":");
        append_number(body, count);
        body.append(streams[stream].before_sequence);
        append_number(body, from);
        body.append(after_sequence);
        if (!options.is_packed) {
            body.append(",\"values\":[");
            for (int64_t sequence = from; sequence < from + count; sequence++) {
                char uptime[32];
                char *end = std::to_chars(uptime, uptime + 32, double(time_of(stream, sequence)) / 1e9).ptr;
                body.append(sequence == from ? "[" : ",[").append(uptime, end);
                body.append(point_of(stream, sequence).text);
            }
            body.append("]");
        }
        body.append("}");
    }

    void write_matrix(std::vector<double> &matrix, size_t stream, int64_t from, int64_t count) const {
        matrix.clear();
        for (int64_t sequence = from; sequence < from + count; sequence++) {
            const double *values = point_of(stream, sequence).values;
            matrix.push_back(double(time_of(stream, sequence)) / 1e9);
            matrix.insert(matrix.end(), values, values + 3);
        }
    }

    void write_description(std::string &body, size_t stream, int64_t number, const Instant &now) const {
        body.append("{\"clock\":{\"date\":\"").append(now.date).append("\",\"elapsed\":").append(now.elapsed);
        body.append(",\"uptime\":").append(now.uptime).append("},\"device\":\"").append(streams[stream].device);
        body.append("\",\"epoch\":\"").append(epoch).append("\",\"fields\":").append(fields);
        body.append(",\"nextSequence\":");
        append_number(body, published[stream]);
        body.append(",\"packed\":").append(options.is_packed ? "true" : "false").append(",\"rate\":");
        append_number(body, options.rate);
        body.append(",\"replay\":\"").append(replay).append("\",\"schema\":\"stream.v1\",\"sequence\":");
        append_number(body, number);
        body.append(",\"source\":\"benchmarks\",\"state\":\"running\",\"stream\":\"motion\",\"unit\":\"g\"}");
    }

    // MARK: Publishing

    void publish(void *publisher) {
        std::string body;
        std::vector<double> matrix;
        int64_t batches = 0, descriptions = 0, last_look = 0;
        while (true) {
            int64_t now = nanoseconds(CLOCK_MONOTONIC);
            if (now - last_look > second / 20) {
                last_look = now;
                pollfd input = {STDIN_FILENO, POLLIN, 0};
                if (poll(&input, 1, 0) > 0) return;
            }
            const Instant instant;
            while (true) {
                size_t stream = size_t(batches % options.streams);
                int64_t from = batches / options.streams * options.batch;
                int64_t due = time_of(stream, from + options.batch - 1);
                if (due > now) break;
                write_body(body, stream, from, options.batch, instant);
                send(publisher, streams[stream].sample_topic, body, options.is_packed);
                if (options.is_packed) {
                    write_matrix(matrix, stream, from, options.batch);
                    zmq_send(publisher, matrix.data(), matrix.size() * sizeof(double), 0);
                }
                published[stream].store(from + options.batch);
                batches++;
                latest = std::max(latest, nanoseconds(CLOCK_MONOTONIC) - due);
            }
            while (start + second * descriptions / options.streams <= now) {
                size_t stream = size_t(descriptions % options.streams);
                body.clear();
                write_description(body, stream, descriptions / options.streams, instant);
                send(publisher, streams[stream].stream_topic, body, false);
                descriptions++;
            }
            // A tick of a millisecond: what is due within it goes out together.
            timespec pause = {0, 1'000'000};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        }
    }

    static void send(void *publisher, const std::string &topic, const std::string &body, bool has_more) {
        char time[32];
        const size_t time_size = write_event_time(time);
        zmq_send(publisher, topic.data(), topic.size(), ZMQ_SNDMORE);
        zmq_send(publisher, body.data(), body.size(), ZMQ_SNDMORE);
        zmq_send(publisher, time, time_size, has_more ? ZMQ_SNDMORE : 0);
    }

    // MARK: Answering

    void answer(void *replier) {
        std::vector<char> request(65'536);
        // Milliseconds after which it looks whether the end has come.
        int wait = 50;
        zmq_setsockopt(replier, ZMQ_RCVTIMEO, &wait, sizeof wait);
        while (!is_ending) {
            int size = zmq_recv(replier, request.data(), request.size(), 0);
            if (size < 0) continue;
            answer(replier, std::string_view(request.data(), std::min(size_t(size), request.size())));
        }
    }

    void answer(void *replier, std::string_view request) {
        std::string_view identifier = after(request, "\"id\":");
        identifier = identifier.substr(0, identifier.find_first_of(",}"));
        std::string reply = "{\"id\":";
        reply.append(identifier.empty() ? "null" : identifier).append(",\"jsonrpc\":\"2.0\",\"result\":");
        std::string_view method = word(request, "\"method\":\"");
        const Instant now;
        if (method == "streams.list") {
            reply.append("{\"streams\":[");
            for (size_t stream = 0; stream < streams.size(); stream++) {
                if (stream > 0) reply.append(",");
                write_description(reply, stream, 0, now);
            }
            reply.append("]}}");
        } else if (method == "service.clock") {
            reply.append("{\"clock\":{\"date\":\"").append(now.date).append("\",\"uptime\":").append(now.uptime);
            reply.append("}}}");
        } else if (method == "samples.replay") {
            replay_samples(replier, request, reply, identifier, now);
            return;
        } else {
            reply = refusal(identifier, -32601, "unsupported", "there is no such method");
        }
        zmq_send(replier, reply.data(), reply.size(), 0);
    }

    // What is asked for of one stream, and what there is of it.
    struct Part {
        size_t stream = 0;
        int64_t from = 0, end = 0, next = 0, frames = 0;
        // Why it is refused, if it is.
        int code = 0;
        const char *reason = "", *message = "";
    };

    // The part that a request, or one of its ranges, asks for.
    Part part(std::string_view asked, int64_t maximum_bytes) const {
        Part part;
        std::string_view device = word(asked, "\"device\":\"");
        int64_t stream = -1, count = integer(asked, "\"count\":");
        part.from = integer(asked, "\"from\":");
        if (device.size() > 1) std::from_chars(device.data() + 1, device.data() + device.size(), stream);
        auto refused = [&](int code, const char *reason, const char *message) {
            part.code = code;
            part.reason = reason;
            part.message = message;
            part.end = part.from;
            return part;
        };
        if (stream < 0 || stream >= options.streams) return refused(3, "unknownStream", "there is no such stream");
        if (word(asked, "\"epoch\":\"") != epoch) return refused(6, "unknownEpoch", "there is no such epoch");
        if (part.from < 0 || count < 1) return refused(4, "invalidParameter", "from and count name no samples");
        part.stream = size_t(stream);
        part.next = published[part.stream];
        const int64_t bytes_per_row = columns * 8 * (options.is_packed ? 1 : 3);
        part.end = std::min({part.next, part.from + count, part.from + std::max<int64_t>(1, maximum_bytes / bytes_per_row)});
        part.end = std::max(part.from, part.end);
        // Cut as the batches were published.
        const int64_t batches
            = part.end == part.from ? 0 : (part.end - 1) / options.batch - part.from / options.batch + 1;
        part.frames = batches * (options.is_packed ? 2 : 1);
        return part;
    }

    static void append_part(std::string &reply, const Part &part) {
        reply.append("\"count\":");
        append_number(reply, part.end - part.from);
        reply.append(",\"first\":0,\"from\":");
        append_number(reply, part.from);
        reply.append(",\"last\":");
        append_number(reply, part.next - 1);
    }

    void replay_samples(
        void *replier, std::string_view request, std::string &reply, std::string_view identifier, const Instant &now
    ) const {
        std::vector<Part> parts;
        std::string_view ranges = after(request, "\"ranges\":[");
        if (ranges.empty()) {
            parts.push_back(part(request, maximum_reply));
            if (parts[0].code != 0) {
                std::string refused = refusal(identifier, parts[0].code, parts[0].reason, parts[0].message);
                zmq_send(replier, refused.data(), refused.size(), 0);
                return;
            }
        } else {
            ranges = ranges.substr(0, ranges.find(']'));
            const int64_t share = maximum_reply / std::max<int64_t>(1, std::count(ranges.begin(), ranges.end(), '{'));
            for (size_t end = ranges.find('}'); end != ranges.npos; end = ranges.find('}')) {
                parts.push_back(part(ranges.substr(0, end), share));
                ranges.remove_prefix(end + 1);
            }
        }
        reply.append("{");
        append_part(reply, parts.empty() ? Part() : parts[0]);
        if (ranges.data() != nullptr) {
            reply.append(",\"ranges\":[");
            for (const Part &part : parts) {
                if (reply.back() == '}') reply.append(",");
                reply.append("{");
                append_part(reply, part);
                reply.append(",\"frames\":");
                append_number(reply, part.frames);
                if (part.code != 0) {
                    reply.append(",\"error\":{\"code\":").append(std::to_string(part.code));
                    reply.append(",\"data\":{\"reason\":\"").append(part.reason).append("\"},\"message\":\"");
                    reply.append(part.message).append("\"}");
                }
                reply.append("}");
            }
            reply.append("]");
        }
        reply.append("}}");
        int64_t left = 0;
        for (const Part &part : parts) left += part.frames;
        zmq_send(replier, reply.data(), reply.size(), left > 0 ? ZMQ_SNDMORE : 0);
        std::string body;
        std::vector<double> matrix;
        for (const Part &part : parts) {
            for (int64_t from = part.from; from < part.end;) {
                const int64_t stop = std::min(part.end, from / options.batch * options.batch + options.batch);
                write_body(body, part.stream, from, stop - from, now);
                zmq_send(replier, body.data(), body.size(), --left > 0 ? ZMQ_SNDMORE : 0);
                if (options.is_packed) {
                    write_matrix(matrix, part.stream, from, stop - from);
                    zmq_send(replier, matrix.data(), matrix.size() * sizeof(double), --left > 0 ? ZMQ_SNDMORE : 0);
                }
                from = stop;
            }
        }
    }

    static std::string refusal(std::string_view identifier, int code, const char *reason, const char *message) {
        return "{\"error\":{\"code\":" + std::to_string(code) + ",\"data\":{\"reason\":\"" + reason
               + "\"},\"message\":\"" + message + "\"},\"id\":"
               + (identifier.empty() ? "null" : std::string(identifier)) + ",\"jsonrpc\":\"2.0\"}";
    }

    const plain_load_options options;
    // Nanoseconds from one batch of a stream to its next.
    const int64_t period;
    std::vector<Stream> streams;
    // How many samples of each stream were published.
    std::unique_ptr<std::atomic<int64_t>[]> published;
    std::vector<Point> table;
    std::string after_sequence, replay;
    int64_t start = 0;
    int64_t latest = 0;
    std::atomic<bool> is_ending = false;
};

}  // namespace

int plain_load(const struct plain_load_options *options) {
    return std::make_unique<Load>(*options)->run();
}
