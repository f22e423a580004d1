/// How much of a growing file the system was told to forget: `OpenFile.dropFromMemory` in whole pages, and enough at a time
/// to be worth the call.
package struct DroppedBytes {
    private static let atOnce = 1 << 20
    private var end = 0

    package init() {}

    /// Drops what lies before an offset and was not dropped yet. All of it must be on disk.
    package mutating func drop(_ file: OpenFile, before offset: Int) {
        let end = offset / Self.atOnce * Self.atOnce
        guard end > self.end else { return }
        file.dropFromMemory(self.end..<end)
        self.end = end
    }
}
