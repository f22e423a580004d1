#ifndef HOLDFAST_CMICROHTTPD_SHIM_H
#define HOLDFAST_CMICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <netinet/in.h>

// What Swift can't call (variadic functions), and what it would see under other names from one version of the library to
// the next (enumerations).

/// What is done with connections and requests. Kept as long as the daemon runs.
struct holdfast_http_handlers {
    void *context;
    /// Called with a request's header (`stage` 0), with each part of its body (1), and when it is complete or continues after it
    /// was suspended (2). Returns 0 where the connection is to end.
    int (*request)(
        void *context, struct MHD_Connection *connection, const char *path, const char *method, int stage,
        const void *bytes, size_t length);
    /// Called when a connection is made, and when it has ended.
    void (*note)(void *context, struct MHD_Connection *connection, int is_there);
};

static enum MHD_Result holdfast_http_request(
    void *context, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *body, size_t *length, void **request) {
    const struct holdfast_http_handlers *handlers = context;
    int stage = *request == NULL ? 0 : *length > 0 ? 1 : 2;
    size_t count = stage == 1 ? *length : 0;
    (void)version;
    *request = context;
    if (stage == 1) *length = 0;
    return handlers->request(handlers->context, connection, path, method, stage, body, count) ? MHD_YES : MHD_NO;
}

static void holdfast_http_note(
    void *context, struct MHD_Connection *connection, void **own, enum MHD_ConnectionNotificationCode code) {
    const struct holdfast_http_handlers *handlers = context;
    (void)own;
    handlers->note(handlers->context, connection, code == MHD_CONNECTION_NOTIFY_STARTED);
}

/// A daemon without a thread of its own, on a socket that listens already, which it takes over: let it run whenever its
/// epoll descriptor can be read.
static inline struct MHD_Daemon *holdfast_http_start(
    int listener, unsigned int connections, size_t memory, struct holdfast_http_handlers *handlers) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, holdfast_http_request, handlers,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_NOTIFY_CONNECTION, holdfast_http_note, handlers,
        MHD_OPTION_END);
}

/// A daemon without a thread of its own, on a port of 127.0.0.1: let it run whenever its epoll descriptor can be read.
/// NULL with errno where the port can't be listened on.
static inline struct MHD_Daemon *holdfast_http_start_on_loopback(
    unsigned short port, unsigned int connections, size_t memory, struct holdfast_http_handlers *handlers) {
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, holdfast_http_request, handlers,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_NOTIFY_CONNECTION, holdfast_http_note, handlers,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
}

static inline unsigned short holdfast_http_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

static inline int holdfast_http_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

static inline int holdfast_http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline void holdfast_http_run(struct MHD_Daemon *daemon) { MHD_run(daemon); }

/// Milliseconds until the daemon must run at the latest; -1 where it need not.
static inline long long holdfast_http_timeout(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    return MHD_get_timeout(daemon, &timeout) == MHD_YES ? (long long)timeout : -1;
}

/// A header's value, or NULL.
static inline const char *holdfast_http_header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/// The value of a name after the path's `?`, or NULL.
static inline const char *holdfast_http_argument(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/// A response with a copy of these bytes.
static inline struct MHD_Response *holdfast_http_response(const void *bytes, size_t length) {
    return MHD_create_response_from_buffer(length, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

static inline void holdfast_http_add_header(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

/// Returns 0 where the response can't be sent.
static inline int holdfast_http_queue(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
    return MHD_queue_response(connection, status, response) == MHD_YES;
}

#endif
