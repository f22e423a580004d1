import Files
import Messages
import SystemPackage
import Testing

@testable import Recording

/// A write-ahead log with the recorder's layout: frames, one block per commit.
final class CommittedLog {
    let directory: Directory
    let appender: LogAppender
    let files: WriteAheadLog
    private(set) var blocks: [LogBlock] = []

    init(
        in directory: Directory, log: String = "L1", position: Int = 0, synced: Int? = nil,
        segmentLength: Int = 64 << 20,
        calls: FileCalls = .unsynced
    ) {
        self.directory = directory
        appender = LogAppender(log: log, position: position, segmentLength: segmentLength)
        files = WriteAheadLog(in: directory, synced: synced ?? position, calls: calls)
    }

    /// Writes the appended frames as one block. After an error the next block begins a segment, as in the recorder.
    func commit() throws(RecordingError) {
        guard let block = appender.takeBlock() else { return }
        do throws(RecordingError) {
            try files.append(block)
            blocks.append(block)
        } catch {
            appender.beginSegment()
            throw error
        }
    }

    /// Commits blocks of one batch each, of different lengths.
    func fill(_ count: Int) throws {
        let number = appender.number(try SessionIdentifier("s1"), LogName("phone_gyro"))
        for index in blocks.count..<(blocks.count + count) {
            appender.append(held: String(repeating: "\(index) ", count: 20 + index % 7), of: number)
            try commit()
        }
    }

    /// All frames of the first blocks; of every block by default.
    func frames(_ count: Int = .max) -> [FrameValue] { blocks.prefix(count).flatMap(\.frames) }

    /// The path of the segment that begins at a position.
    func path(_ segment: Int) -> FilePath { directory.path.appending(WriteAheadLog.name(of: segment)) }

    /// The positions at which segments begin.
    var segments: [Int] { get throws { try WriteAheadLog.segments(in: directory) } }

    func read(from needed: Int = 0) throws -> (frames: [FrameValue], damage: LogReader.Damage?, end: Int) {
        var reader = LogReader(directory)
        var frames: [FrameValue] = []
        try reader.forEachFrame(from: needed) { frames.append(FrameValue($0)) }
        return (frames, reader.damage, reader.end)
    }
}

/// A frame that owns its contents.
struct FrameValue: Hashable {
    let position: Int
    let kind: FrameKind
    let number: UInt32
    let contents: [UInt8]

    init(_ frame: LogFrame) {
        position = frame.position
        kind = frame.kind
        number = frame.number
        contents = Array(frame.contents)
    }

    var text: String { String(decoding: contents, as: UTF8.self) }
    var head: RecordsHead? { contents.withUnsafeBytes { RecordsHead($0) } }
    /// The records after the head.
    var records: String { String(decoding: contents.dropFirst(RecordsHead.byteCount), as: UTF8.self) }
}

extension LogBlock {
    var frames: [FrameValue] {
        var frames: [FrameValue] = []
        forEachFrame { frames.append(FrameValue($0)) }
        return frames
    }

    /// The block's bytes as stored in its segment.
    func bytes(synced: Int) throws -> [UInt8] {
        try withBytes(synced: synced) { header, frames in header + Array(frames) }
    }
}

extension LogAppender {
    /// Adds a held batch.
    func append(held text: String, of number: UInt32) {
        Array(text.utf8).withUnsafeBytes { append(held: $0, packed: nil, of: number) }
    }

    /// Adds records.
    func append(_ records: [UInt8], _ head: RecordsHead, of number: UInt32) {
        _ = beginRecords(of: number, file: head.file, epoch: head.epoch)
        buffer.append(records)
        endRecords(head)
    }
}

extension RecordsHead {
    /// The counts of a stream with one epoch and nothing else to describe.
    init(file: Int, offset: Int, samples: Int, next: Int) {
        var counts = StreamCounts()
        counts.written = next
        self.init(
            file: file, offset: offset, samples: samples, epoch: 0, next: next, counts: counts, firstUptime: nil,
            lastUptime: nil, isMarkedStopped: false)
    }
}
