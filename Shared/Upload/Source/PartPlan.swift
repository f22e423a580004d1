/// The division of a file for a multipart upload. It depends only on the length, so a later attempt, even by another program, can
/// reuse stored parts.
///
/// S3's limits: 10,000 parts of 5 MiB to 5 GiB (the last one may be smaller), and 5 TiB in total.
struct PartPlan: Hashable, Sendable {
    struct Sizes: Hashable, Sendable {
        /// Larger files are sent in parts. In bytes.
        var threshold = 64_000_000
        /// The minimum part size in bytes: large enough to limit the number of requests, small enough to lose little when a
        /// connection breaks.
        var smallestPart = 16 << 20
    }

    /// The parts, in order; a single empty range for an empty file.
    let ranges: [Range<Int>]

    init(bytes: Int, sizes: Sizes = Sizes()) {
        guard bytes > sizes.threshold else {
            ranges = [0..<bytes]
            return
        }
        // The smallest whole number of MiB that needs at most 10,000 parts.
        let needed = ((bytes + 9_999) / 10_000 + 0xF_FFFF) & ~0xF_FFFF
        let size = max(sizes.smallestPart, needed)
        ranges = stride(from: 0, to: bytes, by: size).map { $0..<min($0 + size, bytes) }
    }
}
