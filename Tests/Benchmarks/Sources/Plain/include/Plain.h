// What the programs are measured beside and with, in plain calls of libzmq: a floor, a sender, a load and a reader.
//
// Each runs in a process of its own, talks over standard input and output in lines, and returns 0, or 1 after a line on
// standard error.
#ifndef PLAIN_H
#define PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The keys of a connection as 40 characters each; all null without encryption.
struct plain_keys {
    const char *server;
    const char *own_public;
    const char *own_secret;
};

enum plain_record {
    // The payload as it came: the values of a JSON body, or the packed matrix.
    PLAIN_PASS,
    // A record of the stream's fields alone.
    PLAIN_FIELDS,
    // The record that the recorder writes: timestamp, step path and sensor type too.
    PLAIN_FULL
};

struct plain_floor_options {
    const char *endpoint;
    const char *file;
    struct plain_keys keys;
    enum plain_record record;
    bool is_csv;
    bool is_packed;
    // SHA-256 of what is written.
    bool hashes;
    // Milliseconds from one fdatasync to the next.
    int64_t sync_interval;
    // Returns once so many samples are durable.
    int64_t samples;
    // The columns of a sample, and the two texts that a full record has.
    const char *const *fields;
    int32_t field_count;
    const char *step_path;
    const char *sensor_type;
};

// Receives, formats and writes the samples of one stream. Prints "ready" after its first message, "done" at the end.
int plain_floor(const struct plain_floor_options *options);

struct plain_load_options {
    int32_t streams;
    // Samples a second of each stream.
    int32_t rate;
    // Samples a message.
    int32_t batch;
    bool is_packed;
    // ZMQ_SNDHWM.
    int32_t high_water_mark;
};

// Publishes streams on schedule until a line comes on standard input, and answers streams.list, service.clock and
// samples.replay. Prints "PUB-endpoint REP-endpoint" at the start; at the end the samples published and how late the
// latest batch was, in nanoseconds.
int plain_load(const struct plain_load_options *options);

// A batch without its sequence: what the body has before and after it, and the matrix; null if the body has the values.
struct plain_batch {
    const char *before;
    size_t before_size;
    const char *after;
    size_t after_size;
    const char *matrix;
    size_t matrix_size;
};

// Sends so many samples of one stream over a PUB socket: the batches in turn, each with the next sequence.
int plain_send(
    void *publisher, const char *topic, const struct plain_batch *batches, int32_t batch_count, int64_t samples_per_batch,
    int64_t samples);

// Subscribes to all samples and drops them, until a line comes on standard input. Each line "count" is answered with the
// messages received so far.
int plain_reader(const char *endpoint);

// Writes a table with the header time,x,y,z and so many samples at 100 Hz, of values between -1 and 1 with all their digits.
int plain_table(const char *file, int64_t samples);

#ifdef __cplusplus
}
#endif

#endif
