/// Drops a growing file's written bytes from the page cache with `OpenFile.dropFromMemory`: in whole pages, and enough at a
/// time to be worth the call.
package struct DroppedBytes {
    private static let atOnce = 1 << 20
    private var end = 0

    package init() {}

    /// Drops the bytes before an offset that were not dropped yet. All of them must be on disk.
    package mutating func drop(_ file: OpenFile, before offset: Int) {
        let end = offset / Self.atOnce * Self.atOnce
        guard end > self.end else { return }
        file.dropFromMemory(self.end..<end)
        self.end = end
    }
}
