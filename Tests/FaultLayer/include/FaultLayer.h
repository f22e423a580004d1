/// A library to preload into a program: see FaultLayer.c. The trace's format is for those who read it back.

#ifndef HOLDFAST_FAULT_LAYER_H
#define HOLDFAST_FAULT_LAYER_H

#include <stdint.h>

/// What a record of the trace tells of.
enum fault_layer_kind {
    /// `path` was opened as `handle`; `offset` has the `fault_layer_open` bits.
    FAULT_LAYER_OPEN = 1,
    /// `payload` was written at `offset`.
    FAULT_LAYER_WRITE = 2,
    /// The file was made `offset` bytes long.
    FAULT_LAYER_TRUNCATE = 3,
    /// A sync of `handle` began: what was done before this may become durable. `offset` numbers it, and is odd for
    /// fsync(2), even for fdatasync(2).
    FAULT_LAYER_SYNC_BEGIN = 4,
    /// The sync of `handle` that `offset` numbers ended: what was done before its begin is durable.
    FAULT_LAYER_SYNC_END = 5,
    /// `path` has the name `second` now.
    FAULT_LAYER_RENAME = 6,
    /// `path` has also the name `second`.
    FAULT_LAYER_LINK = 7,
    /// The file `path` has lost this name.
    FAULT_LAYER_UNLINK = 8,
    /// The directory `path` was made.
    FAULT_LAYER_MAKE_DIRECTORY = 9,
    /// The directory `path` was removed.
    FAULT_LAYER_REMOVE_DIRECTORY = 10,
    /// A sync of `handle` failed, as was asked for: what was written before it may be lost for good.
    FAULT_LAYER_SYNC_FAILED = 11,
    /// The call before this one took `offset` nanoseconds until now, more than a call takes by itself.
    FAULT_LAYER_STALL = 12,
};

/// How a file was opened.
enum fault_layer_open {
    /// It was not there before.
    FAULT_LAYER_CREATED = 1,
    /// It was emptied.
    FAULT_LAYER_EMPTIED = 2,
};

/// What each record starts with, in the machine's byte order; `path`, `second` and `payload` follow.
struct fault_layer_record {
    /// CLOCK_MONOTONIC in nanoseconds.
    uint64_t time;
    int64_t offset;
    uint64_t payload_length;
    uint32_t kind;
    /// Counts the opened files.
    uint32_t handle;
    uint32_t path_length;
    uint32_t second_length;
};

#endif
