// Counts allocations in the program that links it: its own functions take the place of libc's, in the libraries that it
// loads too, and hand on to the same heap, so that libc's free() takes what they give ("Replacing malloc" in glibc's
// manual). A count of each thread's own: tests run side by side.

#include "AllocationCount.h"

#include <errno.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local unsigned long allocations;

unsigned long allocation_count(void) { return allocations; }

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    allocations++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    allocations++;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
