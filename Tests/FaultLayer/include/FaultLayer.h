/// A library to preload into a program: see FaultLayer.c. The programs that read the trace use this format.

#ifndef HOLDFAST_FAULT_LAYER_H
#define HOLDFAST_FAULT_LAYER_H

#include <stdint.h>

/// The kind of a trace record.
enum fault_layer_kind {
    /// `path` was opened as `handle`; `offset` has the `fault_layer_open` bits.
    FAULT_LAYER_OPEN = 1,
    /// `payload` was written at `offset`.
    FAULT_LAYER_WRITE = 2,
    /// The file's length became `offset` bytes.
    FAULT_LAYER_TRUNCATE = 3,
    /// A sync of `handle` began: earlier changes may become durable. `offset` numbers the sync, and is odd for fsync(2), even for
    /// fdatasync(2).
    FAULT_LAYER_SYNC_BEGIN = 4,
    /// The sync of `handle` with the number `offset` ended: changes made before its begin are durable.
    FAULT_LAYER_SYNC_END = 5,
    /// `path` was renamed to `second`.
    FAULT_LAYER_RENAME = 6,
    /// `path` got the additional name `second`.
    FAULT_LAYER_LINK = 7,
    /// The name `path` was removed.
    FAULT_LAYER_UNLINK = 8,
    /// The directory `path` was created.
    FAULT_LAYER_MAKE_DIRECTORY = 9,
    /// The directory `path` was removed.
    FAULT_LAYER_REMOVE_DIRECTORY = 10,
    /// A sync of `handle` failed, as configured: data written before it may be lost for good.
    FAULT_LAYER_SYNC_FAILED = 11,
    /// The previous call ended now, after `offset` nanoseconds: longer than a call takes by itself.
    FAULT_LAYER_STALL = 12,
};

/// How a file was opened.
enum fault_layer_open {
    /// The file did not exist before.
    FAULT_LAYER_CREATED = 1,
    /// The file was truncated to 0 bytes.
    FAULT_LAYER_EMPTIED = 2,
};

/// The header of each record, in the machine's byte order; `path`, `second` and `payload` follow.
struct fault_layer_record {
    /// CLOCK_MONOTONIC in nanoseconds.
    uint64_t time;
    int64_t offset;
    uint64_t payload_length;
    uint32_t kind;
    /// The number of the opened file, counted from the trace's beginning.
    uint32_t handle;
    uint32_t path_length;
    uint32_t second_length;
};

#endif
