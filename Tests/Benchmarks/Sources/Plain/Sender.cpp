// Publishes prepared batches as fast as they are taken.

#include "Messages.hpp"
#include "Plain.h"

using namespace plain;

int plain_send(
    void *publisher, const char *topic, const struct plain_batch *batches, int32_t batch_count, int64_t samples_per_batch,
    int64_t samples
) {
    std::string body;
    const size_t topic_size = strlen(topic);
    int32_t next = 0;
    for (int64_t sequence = 0; sequence < samples; sequence += samples_per_batch) {
        const plain_batch &batch = batches[next];
        if (++next == batch_count) next = 0;
        char digits[24];
        body.assign(batch.before, batch.before_size);
        body.append(digits, std::to_chars(digits, digits + sizeof digits, sequence).ptr);
        body.append(batch.after, batch.after_size);
        char time[32];
        const size_t time_size = write_event_time(time);
        if (zmq_send(publisher, topic, topic_size, ZMQ_SNDMORE) < 0 ||
            zmq_send(publisher, body.data(), body.size(), ZMQ_SNDMORE) < 0 ||
            zmq_send(publisher, time, time_size, batch.matrix ? ZMQ_SNDMORE : 0) < 0 ||
            (batch.matrix && zmq_send(publisher, batch.matrix, batch.matrix_size, 0) < 0)) {
            fprintf(stderr, "zmq_send failed\n");
            return 1;
        }
    }
    return 0;
}
