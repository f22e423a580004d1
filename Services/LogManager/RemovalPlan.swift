/// Which files go so that a number of bytes is freed: those offered, in their order, until it is enough.
struct RemovalPlan: Hashable, Sendable {
    /// Bytes that are still to be freed; negative where more was freed.
    private(set) var bytesLeft: Int

    /// Nothing was freed yet.
    init(freeing bytes: Int) {
        bytesLeft = bytes
    }

    /// Whether nothing more has to go.
    var isEnough: Bool { bytesLeft <= 0 }

    /// How many of the files offered go; they count as freed.
    mutating func take(from sizes: some Sequence<Int>) -> Int {
        var count = 0
        for size in sizes {
            if isEnough { break }
            bytesLeft -= size
            count += 1
        }
        return count
    }

    /// Notes that a file which was taken could not be removed after all.
    mutating func putBack(_ bytes: Int) {
        bytesLeft += bytes
    }
}
