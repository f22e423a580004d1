// A subscriber that drops what it receives: with it a publisher has someone to send to.

#include <unistd.h>

#include "Messages.hpp"
#include "Plain.h"

using namespace plain;

int plain_reader(const char *endpoint) {
    void *context = zmq_ctx_new();
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "samples/", 8);
    if (zmq_connect(subscriber, endpoint) != 0) {
        fprintf(stderr, "zmq_connect %s failed\n", endpoint);
        return 1;
    }
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    int64_t messages = 0;
    while (true) {
        zmq_pollitem_t items[] = {{subscriber, 0, ZMQ_POLLIN, 0}, {nullptr, STDIN_FILENO, ZMQ_POLLIN, 0}};
        if (zmq_poll(items, 2, -1) < 0) return 1;
        while (zmq_msg_recv(&frame, subscriber, ZMQ_DONTWAIT) >= 0) {
            if (!zmq_msg_more(&frame)) messages++;
        }
        if (items[1].revents) {
            char line[64];
            ssize_t count = read(STDIN_FILENO, line, sizeof line);
            if (count < 1 || line[0] != 'c') return 0;
            printf("%lld\n", (long long)messages);
            fflush(stdout);
        }
    }
}
