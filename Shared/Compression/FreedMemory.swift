import CISAL

/// Control of freed memory that malloc keeps.
package enum FreedMemory {
    /// Makes malloc return large blocks to the system when they are freed, as it does initially (mallopt(3), "dynamic mmap
    /// threshold").
    package static func returnLargeBlocks() { mallopt(M_MMAP_THRESHOLD, 1 << 20) }

    /// Returns currently free memory to the system.
    package static func trim() { malloc_trim(0) }
}
