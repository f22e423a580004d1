// Shows the thread sanitizer where threads wait for each other at a Swift Mutex. A Mutex that is free is taken by code that the
// compiler puts into its user, where the sanitizer sees it. One that is held is waited for in the standard library, which is not
// instrumented: the sanitizer misses that what its last holder wrote is visible to the next one, and reports false races.
//
// Linked into the tests, these functions are called in place of those of the standard library, and call them. What they do and
// how they are named: Mutex in stdlib/public/Synchronization/Mutex/LinuxImpl.swift, and docs/ABI/Mangling.rst of Swift.

#define _GNU_SOURCE
#include "MutexLayer.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

void __tsan_acquire(void *address);
void __tsan_release(void *address);

static void *standard_library(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void lock_slow(uint32_t thread, SELF) {
    SWIFT void (*original)(uint32_t thread, SELF) = standard_library(LOCK_SLOW);
    original(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);
SWIFT void unlock_slow(SELF) {
    SWIFT void (*original)(SELF) = standard_library(UNLOCK_SLOW);
    __tsan_release(mutex);
    original(mutex);
}
