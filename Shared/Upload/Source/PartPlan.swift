/// How a file is split for a multipart upload: always the same for the same length, so that a later try, also of
/// another program, finds the parts that are there to be its own.
///
/// S3's limits: 10,000 parts of 5 MiB to 5 GiB, the last one may be smaller, and 5 TiB in all.
struct PartPlan: Hashable, Sendable {
    /// How large a file and its parts have to be.
    struct Sizes: Hashable, Sendable {
        /// Longer files are sent in parts.
        var threshold = 64_000_000
        /// Parts that many requests would not make slow, and that a broken connection loses not much of.
        var smallestPart = 16 << 20
    }

    /// The parts, in order; one that is empty for an empty file.
    let ranges: [Range<Int>]

    /// The plan for a file of so many bytes.
    init(bytes: Int, sizes: Sizes = Sizes()) {
        guard bytes > sizes.threshold else {
            ranges = [0..<bytes]
            return
        }
        // As few whole MiB as ten thousand parts allow.
        let needed = ((bytes + 9_999) / 10_000 + 0xF_FFFF) & ~0xF_FFFF
        let size = max(sizes.smallestPart, needed)
        ranges = stride(from: 0, to: bytes, by: size).map { $0..<min($0 + size, bytes) }
    }
}
