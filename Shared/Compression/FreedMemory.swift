import CISAL

/// Memory that was used and is free, which malloc keeps.
package enum FreedMemory {
    /// Has large blocks go back to the system when they are free, as they do at first (mallopt(3), "dynamic mmap
    /// threshold").
    package static func returnLargeBlocks() { mallopt(M_MMAP_THRESHOLD, 1 << 20) }

    /// Gives back what is free now.
    package static func trim() { malloc_trim(0) }
}
