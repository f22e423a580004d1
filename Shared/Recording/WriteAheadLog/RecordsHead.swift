/// The head before records in the write-ahead log: their place, and the stream's position after them.
///
/// All numbers are totals, not differences, so that applying a frame twice changes nothing.
package struct RecordsHead: Hashable, Sendable {
    /// The head's length in a frame, in bytes.
    static let byteCount = 88

    /// The index of the log's file, from 0.
    package var file: Int
    /// Where the records begin in the file.
    package var offset: Int
    /// The file's samples up to the end of the records.
    package var samples: Int
    /// The index of the last record's epoch in the stream.
    package var epoch: Int
    /// The sequence of the next sample in that epoch.
    package var next: Int
    package var counts: StreamCounts
    package var firstUptime: Double?
    package var lastUptime: Double?
    /// Whether the marker of the session's stop is the last record.
    package var isMarkedStopped: Bool

    package init(
        file: Int, offset: Int, samples: Int, epoch: Int, next: Int, counts: StreamCounts, firstUptime: Double?,
        lastUptime: Double?, isMarkedStopped: Bool
    ) {
        self.file = file
        self.offset = offset
        self.samples = samples
        self.epoch = epoch
        self.next = next
        self.counts = counts
        self.firstUptime = firstUptime
        self.lastUptime = lastUptime
        self.isMarkedStopped = isMarkedStopped
    }

    func write(to bytes: UnsafeMutableRawPointer) {
        let numbers = [
            file, offset, samples, epoch | (isMarkedStopped ? 1 << 32 : 0), next, counts.written, counts.paused,
            counts.recovered, counts.duplicates,
        ]
        for (index, number) in numbers.enumerated() {
            bytes.storeBytes(of: Int64(number).littleEndian, toByteOffset: 8 * index, as: Int64.self)
        }
        for (index, uptime) in [firstUptime, lastUptime].enumerated() {
            let bits = (uptime ?? .nan).bitPattern.littleEndian
            bytes.storeBytes(of: bits, toByteOffset: 8 * (numbers.count + index), as: UInt64.self)
        }
    }

    /// Reads the head of a frame's records; nil if the frame is too short, or if a number is negative.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount else { return nil }
        func number(_ index: Int) -> Int {
            Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self)))
        }
        func uptime(_ index: Int) -> Double? {
            let bits = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
            let uptime = Double(bitPattern: bits)
            return uptime.isNaN ? nil : uptime
        }
        guard (0..<9).allSatisfy({ number($0) >= 0 }) else { return nil }
        var counts = StreamCounts()
        counts.written = number(5)
        counts.paused = number(6)
        counts.recovered = number(7)
        counts.duplicates = number(8)
        self.init(
            file: number(0), offset: number(1), samples: number(2), epoch: number(3) & 0xFFFF_FFFF, next: number(4),
            counts: counts, firstUptime: uptime(9), lastUptime: uptime(10), isMarkedStopped: number(3) >> 32 == 1)
    }
}
