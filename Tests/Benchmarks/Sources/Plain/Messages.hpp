// Reading and writing the few messages that floor and load need.
#pragma once

#include <time.h>
#include <zmq.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace plain {

inline int64_t nanoseconds(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline std::string last_endpoint(void *socket) {
    char text[256];
    size_t size = sizeof text;
    return zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &size) == 0 ? std::string(text) : std::string();
}

// Writes the third frame of an event: the wall time in seconds, with six decimals. Returns its size, less than 32.
inline size_t write_event_time(char *to) {
    int64_t microseconds = nanoseconds(CLOCK_REALTIME) / 1'000;
    char *end = std::to_chars(to, to + 20, microseconds / 1'000'000).ptr;
    *end++ = '.';
    int64_t rest = microseconds % 1'000'000;
    for (int digit = 5; digit >= 0; digit--, rest /= 10) end[digit] = char('0' + rest % 10);
    return size_t(end + 6 - to);
}

// The text after a key, up to the end; empty if the key is missing.
inline std::string_view after(std::string_view text, std::string_view key) {
    size_t place = text.find(key);
    return place == std::string_view::npos ? std::string_view() : text.substr(place + key.size());
}

// The integer after a key; -1 if there is none.
inline int64_t integer(std::string_view text, std::string_view key) {
    std::string_view rest = after(text, key);
    int64_t number = -1;
    std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return number;
}

// What stands between a key and the next quote.
inline std::string_view word(std::string_view text, std::string_view key) {
    std::string_view rest = after(text, key);
    return rest.substr(0, rest.find('"'));
}

}  // namespace plain
