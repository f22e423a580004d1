#ifndef HOLDFAST_CMICROHTTPD_SHIM_H
#define HOLDFAST_CMICROHTTPD_SHIM_H

#include <microhttpd.h>

// What Swift can't call (variadic functions), and what it would see under other names from one version of the library to
// the next (enumerations).

/// What is done with connections and requests. Kept as long as the daemon runs.
struct holdfast_http_handlers {
    void *context;
    /// Called with a request's header; `seen` is not 0 where it was suspended then and goes on now.
    /// Returns 0 where the connection is to end.
    int (*answer)(void *context, struct MHD_Connection *connection, const char *path, const char *method, int seen);
    /// Called when a connection is made, and when it has ended.
    void (*note)(void *context, struct MHD_Connection *connection, int is_there);
};

static enum MHD_Result holdfast_http_answer(
    void *context, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
    const char *body, size_t *length, void **request) {
    const struct holdfast_http_handlers *handlers = context;
    int seen = *request != NULL;
    (void)version, (void)body, (void)length;
    *request = context;
    return handlers->answer(handlers->context, connection, path, method, seen) ? MHD_YES : MHD_NO;
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
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, holdfast_http_answer, handlers,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_NOTIFY_CONNECTION, holdfast_http_note, handlers,
        MHD_OPTION_END);
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
