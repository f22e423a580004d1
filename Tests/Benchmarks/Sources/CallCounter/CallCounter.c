// Counts the calls of a program that write and sync files: LD_PRELOAD it. The counts lie in the file that
// CALL_COUNTER_FILE names (see CallCounter.h), which must have their size.
//
// What is not counted: memory maps, io_uring, and system calls that are made without the C library.

#define _GNU_SOURCE
#include "CallCounter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAXIMUM_DESCRIPTORS 65536

static struct call_counts nowhere;
static struct call_counts *counts = &nowhere;
// What each descriptor is, so that the kernel is asked once: 0 unknown, 1 a regular file, 2 anything else.
static unsigned char kinds[MAXIMUM_DESCRIPTORS];

__attribute__((constructor)) static void set_up(void) {
    const char *path = getenv("CALL_COUNTER_FILE");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *memory = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    syscall(SYS_close, descriptor);
    if (memory != MAP_FAILED) counts = memory;
}

static ssize_t count_write(int descriptor, ssize_t written) {
    if (descriptor < 0 || descriptor >= MAXIMUM_DESCRIPTORS) return written;
    if (kinds[descriptor] == 0) {
        struct stat status;
        kinds[descriptor] = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? 1 : 2;
    }
    if (kinds[descriptor] == 1) {
        __atomic_fetch_add(&counts->writes, 1, __ATOMIC_RELAXED);
        if (written > 0) __atomic_fetch_add(&counts->bytes, (uint64_t)written, __ATOMIC_RELAXED);
    }
    return written;
}

static void forget(int descriptor) {
    if (descriptor >= 0 && descriptor < MAXIMUM_DESCRIPTORS) kinds[descriptor] = 0;
}

int close(int descriptor) {
    forget(descriptor);
    return (int)syscall(SYS_close, descriptor);
}

int dup2(int descriptor, int wanted) {
    forget(wanted);
    return descriptor == wanted ? wanted : (int)syscall(SYS_dup3, descriptor, wanted, 0);
}

int dup3(int descriptor, int wanted, int flags) {
    forget(wanted);
    return (int)syscall(SYS_dup3, descriptor, wanted, flags);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    return count_write(descriptor, syscall(SYS_write, descriptor, bytes, count));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return count_write(descriptor, syscall(SYS_pwrite64, descriptor, bytes, count, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return count_write(descriptor, syscall(SYS_pwrite64, descriptor, bytes, count, offset));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    return count_write(descriptor, syscall(SYS_writev, descriptor, parts, count));
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return count_write(descriptor, syscall(SYS_pwritev, descriptor, parts, count, offset, 0));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    return count_write(descriptor, syscall(SYS_pwritev, descriptor, parts, count, offset, 0));
}

ssize_t pwritev2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    return count_write(descriptor, syscall(SYS_pwritev2, descriptor, parts, count, offset, 0, flags));
}

ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags) {
    return count_write(descriptor, syscall(SYS_pwritev2, descriptor, parts, count, offset, 0, flags));
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#define COUNTED_SYNC(call)                                                                     \
    do {                                                                                       \
        int64_t start = now();                                                                 \
        long result = (call);                                                                  \
        __atomic_fetch_add(&counts->syncs, 1, __ATOMIC_RELAXED);                               \
        __atomic_fetch_add(&counts->sync_time, (uint64_t)(now() - start), __ATOMIC_RELAXED);   \
        return (int)result;                                                                    \
    } while (0)

int fdatasync(int descriptor) { COUNTED_SYNC(syscall(SYS_fdatasync, descriptor)); }

int fsync(int descriptor) { COUNTED_SYNC(syscall(SYS_fsync, descriptor)); }

int syncfs(int descriptor) { COUNTED_SYNC(syscall(SYS_syncfs, descriptor)); }

int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned int flags) {
    COUNTED_SYNC(syscall(SYS_sync_file_range, descriptor, offset, count, flags));
}
