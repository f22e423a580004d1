/// Which files go so that a number of bytes is freed: those offered, in their order, until it is enough.
package struct RemovalPlan: Hashable, Sendable {
    /// Bytes that are still to be freed; negative if more was freed.
    package private(set) var bytesLeft: Int
    /// A file frees a multiple of so many bytes.
    private let unit: Int

    /// Nothing was freed yet.
    /// - Parameter unit: the size of the disk's blocks, if space on the disk counts; 1 if sizes count.
    package init(freeing bytes: Int, unit: Int = 1) {
        bytesLeft = bytes
        self.unit = unit
    }

    /// Whether nothing more has to go.
    package var isEnough: Bool { bytesLeft <= 0 }

    /// How many of the files offered go; they count as freed.
    package mutating func take(from sizes: some Sequence<Int>) -> Int {
        var count = 0
        for size in sizes {
            if isEnough { break }
            bytesLeft -= freed(by: size)
            count += 1
        }
        return count
    }

    /// Notes that a file which was taken could not be removed after all.
    package mutating func putBack(_ bytes: Int) {
        bytesLeft += freed(by: bytes)
    }

    private func freed(by bytes: Int) -> Int { (bytes + unit - 1) / unit * unit }
}
