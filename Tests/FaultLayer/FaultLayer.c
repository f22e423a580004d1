// Intercepts a program's file system calls. Preload it with LD_PRELOAD: calls that change files under one directory are
// traced in order, and can be made to fail or to end the program.
//
// FAULT_LAYER_ROOT     the directory, absolute and without links; calls on other files pass untouched
// FAULT_LAYER_TRACE    the trace file, with the records of FaultLayer.h
// FAULT_LAYER_FAULT    kind:n:action[:count], for the n-th (from 1) call of a kind and the count - 1 after it;
//                      kinds: create write truncate allocate sync syncall rename link unlink mkdir
//                      actions: an errno's number; short (half of a write); kill-before, kill-after, kill-torn (kill -9)
// FAULT_LAYER_PREFIX   faults, and their counting, apply only to paths with this prefix
// FAULT_LAYER_HEAL     while a file exists at this path, nothing fails
// FAULT_LAYER_RATE     slow:fast; simulates a disk that writes this many bytes a second in total: slow, or fast while the
//                      file of FAULT_LAYER_HEAL exists
// FAULT_LAYER_SYNC     syncs only sleep this many microseconds, and nothing is synced to the disk
//
// System calls are made directly, so nothing depends on the order in which libraries are loaded. Not covered:
// memory maps, stdio's own writes, io_uring, and programs that are statically linked with libc.

#define _GNU_SOURCE
#include "FaultLayer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAXIMUM_DESCRIPTORS 65536
#define MAXIMUM_PATH 4096

enum call { CREATE, WRITE, TRUNCATE, ALLOCATE, SYNC, SYNCALL, RENAME, LINK, UNLINK, MKDIR, CALLS };
static const char *const call_names[CALLS] = {"create", "write",  "truncate", "allocate", "sync",
                                              "syncall", "rename", "link",     "unlink",   "mkdir"};

enum action { PASS, FAIL, SHORT, KILL_BEFORE, KILL_AFTER, KILL_TORN };

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Held during each call and its record, so that the trace has the order in which the calls happened. Not held during syncs:
// writes continue meanwhile, as on a real disk.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char root[MAXIMUM_PATH];
static size_t root_length;
static char prefix[MAXIMUM_PATH];
static char heal[MAXIMUM_PATH];
static int trace = -1;
static long sync_microseconds = -1;
static uint64_t slow_rate, fast_rate;
// When the slow disk has finished all earlier writes, in nanoseconds of CLOCK_MONOTONIC.
static uint64_t busy_until;
static enum call fault_call = CALLS;
static enum action fault_action = PASS;
static int fault_errno;
static uint64_t fault_first, fault_count = 1;
static uint64_t counts[CALLS];
static uint32_t handles;
static uint32_t syncs;
// The handle of each open file under the root; 0 for other files.
static uint32_t handle_of[MAXIMUM_DESCRIPTORS];
static bool is_in_prefix[MAXIMUM_DESCRIPTORS];

static void copy_environment(const char *name, char *to) {
    const char *value = getenv(name);
    if (value) snprintf(to, MAXIMUM_PATH, "%s", value);
}

static void read_fault(void) {
    const char *text = getenv("FAULT_LAYER_FAULT");
    char kind[16], action[16];
    unsigned long long first, count = 1;
    if (!text || sscanf(text, "%15[a-z]:%llu:%15[a-z0-9-]:%llu", kind, &first, action, &count) < 3) return;
    for (int call = 0; call < CALLS; call++)
        if (strcmp(kind, call_names[call]) == 0) fault_call = call;
    fault_first = first;
    fault_count = count;
    if (strcmp(action, "short") == 0) fault_action = SHORT;
    else if (strcmp(action, "kill-before") == 0) fault_action = KILL_BEFORE;
    else if (strcmp(action, "kill-after") == 0) fault_action = KILL_AFTER;
    else if (strcmp(action, "kill-torn") == 0) fault_action = KILL_TORN;
    else {
        fault_action = FAIL;
        fault_errno = atoi(action);
    }
}

static void set_up(void) {
    copy_environment("FAULT_LAYER_ROOT", root);
    root_length = strlen(root);
    copy_environment("FAULT_LAYER_PREFIX", prefix);
    copy_environment("FAULT_LAYER_HEAL", heal);
    const char *microseconds = getenv("FAULT_LAYER_SYNC");
    if (microseconds) sync_microseconds = atol(microseconds);
    const char *rates = getenv("FAULT_LAYER_RATE");
    unsigned long long slow, fast;
    if (rates && sscanf(rates, "%llu:%llu", &slow, &fast) == 2) slow_rate = slow, fast_rate = fast;
    const char *path = getenv("FAULT_LAYER_TRACE");
    if (path)
        trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    read_fault();
}

// MARK: Paths

static bool make_absolute(int directory, const char *path, char *to) {
    static const char open_files[] = "/proc/self/fd/";
    if (strncmp(path, open_files, sizeof open_files - 1) == 0) {
        // A path in an open directory: the directory's descriptor, and the path below it.
        char *rest;
        long number = strtol(path + sizeof open_files - 1, &rest, 10);
        if (rest != path + sizeof open_files - 1 && rest[0] == '/' && rest[1] && number >= 0 &&
            number < MAXIMUM_DESCRIPTORS) {
            directory = (int)number;
            path = rest + 1;
        }
    }
    if (path[0] == '/') return snprintf(to, MAXIMUM_PATH, "%s", path) < MAXIMUM_PATH;
    char base[MAXIMUM_PATH];
    if (directory == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return false;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return false;
        base[length] = 0;
    }
    return snprintf(to, MAXIMUM_PATH, "%s/%s", base, path) < MAXIMUM_PATH;
}

static bool is_under_root(const char *path) {
    return root_length > 0 && strncmp(path, root, root_length) == 0 &&
           (path[root_length] == '/' || path[root_length] == 0);
}

// Whether calls on this path are traced; if so, `to` receives the full path.
static bool is_watched(int directory, const char *path, char *to) {
    pthread_once(&once, set_up);
    return root_length > 0 && path && make_absolute(directory, path, to) && is_under_root(to);
}

static uint32_t watched_handle(int descriptor) {
    pthread_once(&once, set_up);
    if (descriptor < 0 || descriptor >= MAXIMUM_DESCRIPTORS) return 0;
    return __atomic_load_n(&handle_of[descriptor], __ATOMIC_ACQUIRE);
}

// MARK: Trace

// A longer call, in nanoseconds, was delayed by the machine: by its disk or by a busy processor.
#define LONGEST_CALL 20000000

// When this thread's current call, which holds `mutex`, began.
static __thread uint64_t call_began;

// CLOCK_MONOTONIC in nanoseconds.
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void record(
    enum fault_layer_kind kind, uint32_t handle, int64_t offset, const char *path, const char *second,
    const void *payload, size_t length
) {
    if (trace < 0) return;
    struct fault_layer_record header = {
        .time = now(),
        .offset = offset,
        .payload_length = length,
        .kind = kind,
        .handle = handle,
        .path_length = path ? (uint32_t)strlen(path) : 0,
        .second_length = second ? (uint32_t)strlen(second) : 0,
    };
    struct iovec parts[4] = {
        {&header, sizeof header},
        {(void *)path, header.path_length},
        {(void *)second, header.second_length},
        {(void *)payload, length},
    };
    ssize_t total = (ssize_t)(sizeof header + header.path_length + header.second_length + length);
    if (syscall(SYS_writev, trace, parts, 4) != total) {
        // The program must end: a trace with a hole would prove falsehoods.
        static const char message[] = "FaultLayer: the trace can't be written\n";
        syscall(SYS_write, 2, message, sizeof message - 1);
        syscall(SYS_exit_group, 97);
    }
}

// MARK: Faults

static void end_process(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

// Counts a call and returns the action for it. `mutex` is held.
static enum action next_action(enum call call, bool is_counted) {
    if (!is_counted) return PASS;
    uint64_t number = ++counts[call];
    if (fault_action == PASS || call != fault_call || number < fault_first || number - fault_first >= fault_count)
        return PASS;
    if (heal[0] && syscall(SYS_faccessat, AT_FDCWD, heal, F_OK) == 0) return PASS;
    if (fault_action == KILL_BEFORE) end_process();
    return fault_action;
}

static bool matches_prefix(const char *path) { return strncmp(path, prefix, strlen(prefix)) == 0; }

static void begin(void) {
    call_began = now();
    pthread_mutex_lock(&mutex);
}

// After a call was made: ends the program if the fault asks for it.
static void finish(enum action action) {
    int error = errno;
    if (action == KILL_AFTER || action == KILL_TORN) end_process();
    int64_t length = (int64_t)(now() - call_began);
    if (length > LONGEST_CALL) record(FAULT_LAYER_STALL, 0, length, NULL, NULL, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = error;
}

static int refuse(void) {
    pthread_mutex_unlock(&mutex);
    errno = fault_errno;
    return -1;
}

// MARK: Opening

static int open_file(int directory, const char *path, int flags, mode_t mode) {
    char full[MAXIMUM_PATH];
    if (!is_watched(directory, path, full) || (flags & O_PATH))
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    begin();
    bool creates = (flags & O_CREAT) && syscall(SYS_faccessat, directory, path, F_OK) != 0;
    enum action action = PASS;
    if (creates) {
        action = next_action(CREATE, matches_prefix(full));
        if (action == FAIL) return refuse();
    }
    int descriptor = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS) {
        is_in_prefix[descriptor] = matches_prefix(full);
        __atomic_store_n(&handle_of[descriptor], ++handles, __ATOMIC_RELEASE);
        int64_t how = (creates ? FAULT_LAYER_CREATED : 0) | ((flags & O_TRUNC) ? FAULT_LAYER_EMPTIED : 0);
        record(FAULT_LAYER_OPEN, handles, how, full, NULL, NULL, 0);
    }
    finish(action);
    return descriptor;
}

static mode_t mode_argument(int flags, va_list arguments) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(arguments, int) : 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_argument(flags, arguments);                                                                 \
        va_end(arguments);                                                                                             \
        return open_file(AT_FDCWD, path, flags, mode);                                                                 \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int directory, const char *path, int flags, ...) {                                                        \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_argument(flags, arguments);                                                                 \
        va_end(arguments);                                                                                             \
        return open_file(directory, path, flags, mode);                                                                \
    }
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int descriptor) {
    // The descriptor may be reused for another file as soon as it is closed.
    if (watched_handle(descriptor)) __atomic_store_n(&handle_of[descriptor], 0, __ATOMIC_RELEASE);
    return (int)syscall(SYS_close, descriptor);
}

static int note_duplicate(int descriptor, int duplicate) {
    if (duplicate >= 0 && duplicate < MAXIMUM_DESCRIPTORS) {
        is_in_prefix[duplicate] = descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS && is_in_prefix[descriptor];
        __atomic_store_n(&handle_of[duplicate], watched_handle(descriptor), __ATOMIC_RELEASE);
    }
    return duplicate;
}

int dup(int descriptor) { return note_duplicate(descriptor, (int)syscall(SYS_dup, descriptor)); }

int dup3(int descriptor, int wanted, int flags) {
    return note_duplicate(descriptor, (int)syscall(SYS_dup3, descriptor, wanted, flags));
}

int dup2(int descriptor, int wanted) { return descriptor == wanted ? wanted : dup3(descriptor, wanted, 0); }

// MARK: Writing

// Sleeps as long as a slow disk would take for these bytes and all earlier ones. `mutex` is not held.
static void take_time(ssize_t bytes) {
    if (!slow_rate || bytes <= 0) return;
    int error = errno;
    bool is_healed = heal[0] && syscall(SYS_faccessat, AT_FDCWD, heal, F_OK) == 0;
    uint64_t rate = is_healed ? fast_rate : slow_rate;
    uint64_t time = now();
    pthread_mutex_lock(&mutex);
    if (busy_until < time) busy_until = time;
    busy_until += (uint64_t)bytes * 1000000000u / (rate ? rate : 1);
    uint64_t end = busy_until;
    pthread_mutex_unlock(&mutex);
    struct timespec then = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR) {}
    errno = error;
}

// Writes bytes from one memory region or several.
static ssize_t write_file(int descriptor, uint32_t handle, const void *bytes, size_t count, off_t offset, bool moves) {
    begin();
    enum action action = next_action(WRITE, is_in_prefix[descriptor]);
    if (action == FAIL) return refuse();
    if ((action == SHORT || action == KILL_TORN) && count > 1) count /= 2;
    if (moves) {
        int flags = (int)syscall(SYS_fcntl, descriptor, F_GETFL);
        struct stat status;
        offset = syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
        if ((flags & O_APPEND) && fstat(descriptor, &status) == 0) offset = status.st_size;
    }
    ssize_t written = moves ? syscall(SYS_write, descriptor, bytes, count)
                            : syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    if (written > 0) record(FAULT_LAYER_WRITE, handle, offset, NULL, NULL, bytes, (size_t)written);
    finish(action);
    take_time(written);
    return written;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    uint32_t handle = watched_handle(descriptor);
    if (!handle) return syscall(SYS_write, descriptor, bytes, count);
    return write_file(descriptor, handle, bytes, count, 0, true);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    uint32_t handle = watched_handle(descriptor);
    if (!handle) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    return write_file(descriptor, handle, bytes, count, offset, false);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

// One write per memory region: a caller must handle short writes anyway.
static ssize_t write_parts(int descriptor, const struct iovec *parts, int count, off_t offset, bool moves) {
    ssize_t total = 0;
    for (int part = 0; part < count; part++) {
        if (parts[part].iov_len == 0) continue;
        ssize_t written = moves ? write(descriptor, parts[part].iov_base, parts[part].iov_len)
                                : pwrite(descriptor, parts[part].iov_base, parts[part].iov_len, offset + total);
        if (written < 0) return total > 0 ? total : -1;
        total += written;
        if ((size_t)written < parts[part].iov_len) break;
    }
    return total;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    if (!watched_handle(descriptor)) return syscall(SYS_writev, descriptor, parts, count);
    return write_parts(descriptor, parts, count, 0, true);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    if (!watched_handle(descriptor)) return syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
    return write_parts(descriptor, parts, count, offset, false);
}

// Callers fall back to plain reads and writes, which are traced.
ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t count, unsigned flags) {
    if (!watched_handle(out)) return syscall(SYS_copy_file_range, in, in_offset, out, out_offset, count, flags);
    errno = ENOSYS;
    return -1;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count) {
    if (!watched_handle(out)) return syscall(SYS_sendfile, out, in, offset, count);
    errno = EINVAL;
    return -1;
}

int ftruncate(int descriptor, off_t length) {
    uint32_t handle = watched_handle(descriptor);
    if (!handle) return (int)syscall(SYS_ftruncate, descriptor, length);
    begin();
    enum action action = next_action(TRUNCATE, is_in_prefix[descriptor]);
    if (action == FAIL) return refuse();
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    if (result == 0) record(FAULT_LAYER_TRUNCATE, handle, length, NULL, NULL, NULL, 0);
    finish(action);
    return result;
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

int truncate(const char *path, off_t length) {
    int descriptor = open_file(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int result = ftruncate(descriptor, length);
    int error = errno;
    close(descriptor);
    errno = error;
    return result;
}

int truncate64(const char *path, off64_t length) { return truncate(path, length); }

// Preallocated space has no contents; if it makes the file longer, the trace has a truncation to the new length.
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    uint32_t handle = watched_handle(descriptor);
    if (!handle) return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
    begin();
    enum action action = next_action(ALLOCATE, is_in_prefix[descriptor]);
    if (action == FAIL) return refuse();
    struct stat before, after;
    fstat(descriptor, &before);
    int result = (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
    if (result == 0 && fstat(descriptor, &after) == 0 && after.st_size != before.st_size)
        record(FAULT_LAYER_TRUNCATE, handle, after.st_size, NULL, NULL, NULL, 0);
    finish(action);
    return result;
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
    return fallocate(descriptor, mode, offset, length);
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    int error = errno;
    int result = fallocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
    errno = error;
    return result;
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
    return posix_fallocate(descriptor, offset, length);
}

// MARK: Syncing

static int sync_file(int descriptor, enum call call, long number) {
    uint32_t handle = watched_handle(descriptor);
    if (!handle) return (int)syscall(number, descriptor);
    begin();
    enum action action = next_action(call, is_in_prefix[descriptor]);
    if (action == FAIL) {
        record(FAULT_LAYER_SYNC_FAILED, handle, 0, NULL, NULL, NULL, 0);
        return refuse();
    }
    int64_t begun = (int64_t)++syncs * 2 + (call == SYNCALL);
    record(FAULT_LAYER_SYNC_BEGIN, handle, begun, NULL, NULL, NULL, 0);
    pthread_mutex_unlock(&mutex);
    uint64_t slept_since = now();
    int result = 0;
    if (sync_microseconds < 0) {
        result = (int)syscall(number, descriptor);
    } else {
        struct timespec rest = {sync_microseconds / 1000000, sync_microseconds % 1000000 * 1000};
        while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
    }
    int error = errno;
    begin();
    // A simulated sync takes the configured time; only a longer time is due to the machine.
    if (sync_microseconds >= 0) call_began = slept_since + (uint64_t)sync_microseconds * 1000u;
    if (result == 0) record(FAULT_LAYER_SYNC_END, handle, begun, NULL, NULL, NULL, 0);
    errno = error;
    finish(action);
    return result;
}

int fsync(int descriptor) { return sync_file(descriptor, SYNCALL, SYS_fsync); }

int fdatasync(int descriptor) { return sync_file(descriptor, SYNC, SYS_fdatasync); }

// MARK: Names

static int rename_file(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    char full[MAXIMUM_PATH], second[MAXIMUM_PATH];
    if (!is_watched(from_directory, from, full) || !is_watched(to_directory, to, second))
        return (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    begin();
    enum action action = next_action(RENAME, matches_prefix(full));
    if (action == FAIL) return refuse();
    int result = (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
    if (result == 0) record(FAULT_LAYER_RENAME, 0, 0, full, second, NULL, 0);
    finish(action);
    return result;
}

int rename(const char *from, const char *to) { return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0); }

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    return rename_file(from_directory, from, to_directory, to, 0);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    return rename_file(from_directory, from, to_directory, to, flags);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    char full[MAXIMUM_PATH], second[MAXIMUM_PATH];
    if (!is_watched(from_directory, from, full) || !is_watched(to_directory, to, second))
        return (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
    begin();
    enum action action = next_action(LINK, matches_prefix(full));
    if (action == FAIL) return refuse();
    int result = (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
    if (result == 0) record(FAULT_LAYER_LINK, 0, 0, full, second, NULL, 0);
    finish(action);
    return result;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int directory, const char *path, int flags) {
    char full[MAXIMUM_PATH];
    if (!is_watched(directory, path, full)) return (int)syscall(SYS_unlinkat, directory, path, flags);
    begin();
    enum action action = next_action(UNLINK, matches_prefix(full));
    if (action == FAIL) return refuse();
    int result = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (result == 0)
        record(
            flags & AT_REMOVEDIR ? FAULT_LAYER_REMOVE_DIRECTORY : FAULT_LAYER_UNLINK, 0, 0, full, NULL, NULL, 0);
    finish(action);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int remove(const char *path) {
    int result = unlink(path);
    return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

int mkdirat(int directory, const char *path, mode_t mode) {
    char full[MAXIMUM_PATH];
    if (!is_watched(directory, path, full)) return (int)syscall(SYS_mkdirat, directory, path, mode);
    begin();
    enum action action = next_action(MKDIR, matches_prefix(full));
    if (action == FAIL) return refuse();
    int result = (int)syscall(SYS_mkdirat, directory, path, mode);
    if (result == 0) record(FAULT_LAYER_MAKE_DIRECTORY, 0, 0, full, NULL, NULL, 0);
    finish(action);
    return result;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
