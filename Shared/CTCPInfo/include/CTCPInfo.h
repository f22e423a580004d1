/// Linux's counters of a TCP connection: `struct tcp_info` of linux/tcp.h, which glibc declares without these fields.

#ifndef HOLDFAST_CTCPINFO_H
#define HOLDFAST_CTCPINFO_H

#include <stdbool.h>
#include <stdint.h>

/// Bytes received from the peer, read or not, and bytes acknowledged by the peer's machine. Returns false if the kernel does not
/// count them.
bool holdfast_tcp_counts(int descriptor, uint64_t *received, uint64_t *acknowledged);

#endif
