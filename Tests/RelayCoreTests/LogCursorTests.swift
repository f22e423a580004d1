import Files
import Recording
import SystemPackage
import TestSupport
import Testing

/// Reads a log piece by piece while it is written, across all its segments.
@Suite(.timeLimit(.minutes(1)))
struct LogCursorTests {
    private func block(_ appender: LogAppender, _ number: UInt8) -> LogBlock? {
        [number, 1, 2, 3].withUnsafeBytes { bytes in
            appender.append(eventAt: bytes, body: bytes, time: bytes, packed: number.isMultiple(of: 2) ? bytes : nil)
        }
        return appender.takeBlock()
    }

    @Test(arguments: [1, 200, 1_000_000])
    func everyEventIsReadOnce(limit: Int) throws {
        try withTemporaryDirectory { path in
            let directory = Directory(path.appending("log"))
            var read: [UInt8] = []
            var place = 0
            var end = 0
            for run in 0..<3 {
                // Each run continues in a new segment.
                let log = WriteAheadLog(in: directory, synced: end)
                let appender = LogAppender(log: "test", position: end, segmentLength: 512)
                let cursor = LogCursor(in: directory, at: place)
                for number in 0..<20 {
                    let block = try #require(self.block(appender, UInt8(20 * run + number)))
                    try log.append(block)
                    end = block.end
                    guard number % 7 == 3 else { continue }
                    while place < end {
                        place = try cursor.read(from: place, upTo: end, limit: limit) { frame in
                            if let event = frame.event {
                                read.append(event.topic[0])
                                #expect((event.packed != nil) == event.topic[0].isMultiple(of: 2))
                            }
                        }
                    }
                }
            }
            let cursor = LogCursor(in: directory, at: place)
            while place < end {
                place = try cursor.read(from: place, upTo: end, limit: limit) { frame in
                    if let event = frame.event { read.append(event.topic[0]) }
                }
            }
            #expect(read == Array(0..<60))
        }
    }
}
