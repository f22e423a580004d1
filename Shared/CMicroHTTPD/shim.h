#ifndef HOLDFAST_CMICROHTTPD_SHIM_H
#define HOLDFAST_CMICROHTTPD_SHIM_H

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// Wrappers for functions that Swift cannot call (variadic ones), and for enumerations that Swift imports under different names
// depending on the library's version.

/// Handlers for connections and requests. Must stay valid while the daemon runs.
struct holdfast_http_handlers {
    void *context;
    /// Called with a request's header (`stage` 0), with each part of its body (1), and when it is complete or continues after a
    /// suspension (2). Returns 0 to end the connection.
    int (*request)(
        void *context, struct MHD_Connection *connection, const char *path, const char *method, int stage,
        const void *bytes, size_t length);
    /// Called when a connection is made, and when it has ended.
    void (*note)(void *context, struct MHD_Connection *connection, int is_there);
    /// Called with a connection's socket after a protocol upgrade, and with bytes already received in the new protocol. NULL if
    /// upgrades are not used.
    void (*upgraded)(
        void *context, struct MHD_Connection *connection, const void *bytes, size_t length, int socket,
        struct MHD_UpgradeResponseHandle *handle);
};

static void holdfast_http_upgraded(
    void *context, struct MHD_Connection *connection, void *own, const char *bytes, size_t length, MHD_socket socket,
    struct MHD_UpgradeResponseHandle *handle) {
    const struct holdfast_http_handlers *handlers = context;
    (void)own;
    handlers->upgraded(handlers->context, connection, bytes, length, socket, handle);
}

/// The response that upgrades a connection to another protocol.
static inline struct MHD_Response *holdfast_http_upgrade(struct holdfast_http_handlers *handlers) {
    return MHD_create_response_for_upgrade(holdfast_http_upgraded, handlers);
}

/// Closes an upgraded connection and its socket.
static inline void holdfast_http_close(struct MHD_UpgradeResponseHandle *handle) {
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

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

/// A daemon's TLS settings: TLS 1.2 and 1.3, only with forward secrecy and authenticated encryption.
static const char holdfast_tls_priorities[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:"
    "+CHACHA20-POLY1305:-MAC-ALL:+AEAD:%SERVER_PRECEDENCE";

/// Starts a daemon without its own thread and takes over a listening socket. Run the daemon whenever its epoll descriptor is
/// readable. `certificate` and `key` are PEM; both NULL for plain HTTP.
static inline struct MHD_Daemon *holdfast_http_start(
    int listener, unsigned int connections, size_t memory, const char *certificate, const char *key,
    struct holdfast_http_handlers *handlers) {
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)holdfast_tls_priorities},
        {MHD_OPTION_END, 0, NULL}};
    if (certificate == NULL) tls[0].option = MHD_OPTION_END;
    errno = 0;
    return MHD_start_daemon(
        // Over TLS, upgraded connections would be forwarded in records of four bytes.
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (certificate == NULL ? MHD_ALLOW_UPGRADE : MHD_USE_TLS), 0, NULL, NULL,
        holdfast_http_request, handlers,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_NOTIFY_CONNECTION, holdfast_http_note, handlers,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

static inline int holdfast_http_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

/// A descriptor that is readable when the daemon's is, and after `holdfast_http_wake` of `waker`, since resuming a suspended
/// connection does not make the daemon's own readable. Creates `waker`. Returns -1 with errno if there are no descriptors left.
static inline int holdfast_http_waking_descriptor(struct MHD_Daemon *daemon, int *waker) {
    *waker = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int both = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (*waker >= 0 && both >= 0 && epoll_ctl(both, EPOLL_CTL_ADD, *waker, &event) == 0 &&
        epoll_ctl(both, EPOLL_CTL_ADD, holdfast_http_descriptor(daemon), &event) == 0)
        return both;
    int error = errno;
    if (*waker >= 0) close(*waker);
    if (both >= 0) close(both);
    errno = error;
    return -1;
}

/// Makes the descriptor readable also when a socket is ready to read or write, as requested. `is_new` is 0 to change an existing
/// watch. Returns -1 with errno on failure.
static inline int holdfast_http_watch(int both, int socket, int is_new, int reads, int writes) {
    struct epoll_event event = {.events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0)};
    return epoll_ctl(both, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

/// Makes the descriptor readable until `holdfast_http_calm`.
static inline void holdfast_http_wake(int waker) { eventfd_write(waker, 1); }

static inline void holdfast_http_calm(int waker) {
    eventfd_t count;
    eventfd_read(waker, &count);
}

static inline int holdfast_http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// Writes the address of a connection's peer without its port; an empty text if there is none.
static inline void holdfast_http_peer(struct MHD_Connection *connection, char *text, size_t room) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    text[0] = 0;
    if (getpeername(holdfast_http_socket(connection), (struct sockaddr *)&address, &length) == 0)
        getnameinfo((struct sockaddr *)&address, length, text, room, NULL, 0, NI_NUMERICHOST);
}

static inline void holdfast_http_run(struct MHD_Daemon *daemon) { MHD_run(daemon); }

/// Milliseconds until the daemon must run at the latest; -1 if there is no limit.
static inline long long holdfast_http_timeout(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    return MHD_get_timeout(daemon, &timeout) == MHD_YES ? (long long)timeout : -1;
}

/// A header's value, or NULL.
static inline const char *holdfast_http_header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/// The value of a query argument, or NULL.
static inline const char *holdfast_http_argument(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/// A response of `length` bytes, or of unlimited length if it is -1. `read` copies available bytes into a buffer; if there are
/// none, it suspends the connection and returns 0. It returns -2 for an error. `end` is called when the response is no longer
/// used.
static inline struct MHD_Response *holdfast_http_feed(
    long long length, size_t block, ssize_t (*read)(void *feed, uint64_t place, char *buffer, size_t room), void *feed,
    void (*end)(void *feed)) {
    return MHD_create_response_from_callback(
        length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length, block, read, feed, end);
}

/// A response with a copy of these bytes.
static inline struct MHD_Response *holdfast_http_response(const void *bytes, size_t length) {
    return MHD_create_response_from_buffer(length, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

static inline void holdfast_http_add_header(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

/// Returns 0 if the response cannot be sent.
static inline int holdfast_http_queue(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
    return MHD_queue_response(connection, status, response) == MHD_YES;
}

#endif
