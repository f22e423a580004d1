#include "CTCPInfo.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

bool holdfast_tcp_counts(int descriptor, uint64_t *received, uint64_t *acknowledged) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    // An older kernel fills in fewer fields.
    if (size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return false;
    *received = info.tcpi_bytes_received;
    *acknowledged = info.tcpi_bytes_acked;
    return true;
}
