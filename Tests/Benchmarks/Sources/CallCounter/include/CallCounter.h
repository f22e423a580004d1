// What CallCounter.c counts, as it lies in the file that CALL_COUNTER_FILE names.
#ifndef CALL_COUNTER_H
#define CALL_COUNTER_H

#include <stdint.h>

struct call_counts {
    // fdatasync, fsync, sync_file_range, syncfs.
    uint64_t syncs;
    // Calls that write to regular files, and how many bytes they wrote.
    uint64_t writes;
    uint64_t bytes;
    // Nanoseconds in those syncs.
    uint64_t sync_time;
};

#endif
