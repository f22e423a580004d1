/// Chooses the files to remove: in the order offered, until a number of bytes is freed.
package struct RemovalPlan: Hashable, Sendable {
    /// Bytes still to be freed; negative if more was freed.
    package private(set) var bytesLeft: Int
    /// Bytes freed by a file are rounded up to a multiple of this.
    private let unit: Int

    /// - Parameter unit: the disk's block size if space on the disk counts, 1 if file sizes count.
    package init(freeing bytes: Int, unit: Int = 1) {
        bytesLeft = bytes
        self.unit = unit
    }

    package var isEnough: Bool { bytesLeft <= 0 }

    /// Takes files off the front of those offered, and counts them as freed.
    /// - Returns: how many were taken.
    package mutating func take(from sizes: some Sequence<Int>) -> Int {
        var count = 0
        for size in sizes {
            if isEnough { break }
            bytesLeft -= freed(by: size)
            count += 1
        }
        return count
    }

    /// Notes that a file which was taken could not be removed.
    package mutating func putBack(_ bytes: Int) {
        bytesLeft += freed(by: bytes)
    }

    private func freed(by bytes: Int) -> Int { (bytes + unit - 1) / unit * unit }
}
