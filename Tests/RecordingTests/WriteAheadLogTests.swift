import Files
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct WriteAheadLogTests {
    private func withLog(
        segmentLength: Int = 64 << 20, calls: FileCalls = .unsynced, _ body: (CommittedLog) throws -> Void
    ) throws {
        try withTemporaryDirectory { data in
            // The log's directory is created with the first block.
            let directory = Directory(data.path.appending("recordings").appending(".wal"))
            try body(CommittedLog(in: directory, segmentLength: segmentLength, calls: calls))
        }
    }

    @Test func segmentsAreNamedAfterTheirPositions() throws {
        #expect(WriteAheadLog.name(of: 0) == "0000000000000000.wal")
        #expect(WriteAheadLog.name(of: 0xAB_CDEF) == "0000000000abcdef.wal")
        try withLog(segmentLength: 400) { log in
            try log.fill(20)
            let segments = try log.segments
            #expect(segments == Array(Set(log.blocks.map(\.segment))).sorted())
            #expect(segments.count > 2)
            for (segment, next) in zip(segments, segments.dropFirst()) {
                let length = try bytes(of: log.path(segment)).count
                #expect(length == next - segment)
                #expect(length >= 400)
            }
            #expect(try log.read().frames == log.frames())
            #expect(try log.read().end == log.blocks.last?.end)
        }
    }

    /// One write for the header, one for the frames, and one sync; a new segment also syncs the directory's entries.
    @Test func aBlockIsOneSync() throws {
        let faults = Faults()
        try withLog(segmentLength: 400, calls: faults.failing()) { log in
            try log.fill(20)
            #expect(faults.count(of: .sync) == 20)
            #expect(faults.count(of: .write) == 40)
            #expect(try faults.count(of: .syncAll) == log.segments.count)
            #expect(faults.count(of: .resize) == 0)
        }
    }

    @Test func aLogThatWasReadIsContinued() throws {
        try withLog { log in
            try log.fill(3)
            var reader = LogReader(log.directory)
            try reader.forEachFrame { _ in }
            let next = CommittedLog(in: log.directory, position: reader.end)
            try next.fill(2)
            #expect(try log.segments == [0, reader.end])
            #expect(try log.read().frames == log.frames() + next.frames())
            #expect(try log.read().damage == nil)
        }
    }

    @Test func whatIsNotNeededIsRemoved() throws {
        try withLog(segmentLength: 400) { log in
            try log.fill(20)
            let segments = try log.segments
            let end = log.appender.position
            #expect(try log.files.remove(before: segments[1] - 1, current: log.appender.segment) == end)
            #expect(try log.segments == segments)
            #expect(try log.files.remove(before: segments[2] + 5, current: log.appender.segment) == end - segments[2])
            #expect(try log.segments == Array(segments[2...]))
            // The segment being written stays.
            #expect(try log.files.remove(before: .max, current: log.appender.segment) == end - log.appender.segment)
            #expect(try log.segments == segments.suffix(log.appender.segment == end ? 0 : 1))
            try log.fill(3)
            #expect(try log.read(from: log.appender.segment).damage == nil)

            // Unless the next block begins another segment.
            log.appender.beginSegment()
            #expect(try log.files.remove(before: .max, current: log.appender.segment) == 0)
            #expect(try log.segments == [])
            try log.fill(1)
            #expect(try log.segments == [log.blocks[log.blocks.count - 1].position])
            #expect(try log.read(from: log.blocks[log.blocks.count - 1].position).frames == log.blocks.last?.frames)
        }
    }

    @Test func otherFilesStay() throws {
        try withLog { log in
            try log.fill(1)
            let names = [
                "notes.txt", "0000000000000000.wal.bak", "00000000000000AB.wal", "-000000000000001.wal", "1.wal",
            ]
            for name in names { try write([1], to: log.directory.path.appending(name)) }
            #expect(try log.segments == [0])
            #expect(try log.read().frames == log.frames())
            log.appender.beginSegment()
            _ = try log.files.remove(before: .max, current: log.appender.segment)
            #expect(try log.directory.names().sorted() == names.sorted())
        }
    }

    // MARK: Failures

    /// Whichever call fails, the block is not in the log, it is not retried, and the log continues in another segment.
    @Test(arguments: [Faults.Call.write, .sync, .syncAll], [false, true])
    func afterAFailureTheSegmentIsNotUsedAgain(call: Faults.Call, isCut: Bool) throws {
        let count = try Faults.each(call) { directory, calls in
            var calls = calls
            // If the bytes can't be truncated either, they stay: possibly the whole block.
            if !isCut { calls.resize = { _, _ throws(Errno) in throw .ioError } }
            let written = WrittenFiles()
            let log = CommittedLog(in: directory, segmentLength: 400, calls: written.watching(calls))
            var failures = 0
            var hasLastFailed = false
            for _ in 0..<12 {
                hasLastFailed = false
                do {
                    try log.fill(1)
                } catch is RecordingError {
                    failures += 1
                    hasLastFailed = true
                    written.close()
                }
            }
            #expect(log.blocks.count == 12 - failures)
            #expect(written.syncs == 12 - (call == .write ? failures : 0))
            #expect(!written.wasClosedFileUsed)
            let read = try log.read()
            // The whole last block may be there, with nothing to show that it was not durable.
            if isCut || !hasLastFailed { #expect(read.frames == log.frames()) }
            #expect(read.frames.starts(with: log.frames()))
            #expect(read.damage == nil)
            #expect(read.end >= log.blocks.last?.end ?? 0)
            return failures
        }
        #expect(count > (call == .syncAll ? 3 : 12))
    }

    /// The first block of a segment, and the blocks of a log that failed permanently.
    @Test func aDiskThatTakesNothingIsNotAskedTwice() throws {
        try withLog(calls: Faults().failing(write: 1, after: 0, with: .noSpace)) { log in
            let number = log.appender.number(try SessionIdentifier("s1"))
            log.appender.append(held: "a", of: number)
            let error = try #require(throws: RecordingError.self) { try log.commit() }
            #expect(error.code == .noSpace)
            #expect(try log.read().frames == [])
            #expect(try log.read().damage == nil)
            try log.fill(1)
            #expect(try log.read().frames == log.frames())
            #expect(try log.segments == [0, log.blocks[0].position])
            #expect(
                try log.files.remove(before: log.blocks[0].position, current: log.appender.segment)
                    == log.blocks[0].count)
        }
    }

    @Test func aFullDiskLeavesTheLogUpToTheLastWholeBlock() throws {
        for isCut in [true, false] {
            for capacity in stride(from: 0, to: 1500, by: 7) {
                let room = Shared(capacity)
                var calls = Faults.disk(of: room)
                calls.sync = { _ throws(Errno) in }
                calls.syncAll = { _ throws(Errno) in }
                if !isCut { calls.resize = { _, _ throws(Errno) in throw .ioError } }
                try withLog(calls: calls) { log in
                    let error = try #require(throws: RecordingError.self) { try log.fill(30) }
                    #expect(error.code == .noSpace)
                    var read = try log.read()
                    #expect(read.frames == log.frames())
                    #expect(read.damage == nil)
                    // The disk has room again.
                    room.value = .max
                    try log.fill(2)
                    read = try log.read()
                    #expect(read.frames == log.frames())
                    #expect(read.damage == nil, "\(capacity)")
                }
            }
        }
    }

    @Test func aBlockOfASegmentThatFailedIsRefused() async {
        await #expect(processExitsWith: .failure) {
            let directory = Directory("/nonexistent")
            let log = WriteAheadLog(in: directory, synced: 0)
            let appender = LogAppender(log: "L1", position: 0)
            let number = appender.number(try SessionIdentifier("s1"))
            appender.append(held: "a", of: number)
            _ = appender.takeBlock()
            appender.append(held: "b", of: number)
            if let block = appender.takeBlock() { try log.append(block) }
        }
    }
}

/// The files that are synced and written to, identified by their descriptors.
private final class WrittenFiles: Sendable {
    private let used = Shared(0)
    private let closed = Shared(0)
    private let latest = Shared(0)
    private let misused = Shared(0)

    var syncs: Int { used.value }
    var wasClosedFileUsed: Bool { misused.value > 0 }

    /// Marks the last used file as one that must not be used again.
    func close() { closed.value = latest.value }

    private func note(_ descriptor: FileDescriptor) throws(Errno) {
        let inode = Int(try descriptor.stat().inode.rawValue)
        if inode == closed.value { misused.value += 1 }
        latest.value = inode
    }

    func watching(_ calls: FileCalls) -> FileCalls {
        var watching = calls
        watching.write = { descriptor, bytes, offset throws(Errno) in
            try self.note(descriptor)
            return try calls.write(descriptor, bytes, offset)
        }
        watching.sync = { descriptor throws(Errno) in
            try self.note(descriptor)
            self.used.value += 1
            try calls.sync(descriptor)
        }
        return watching
    }
}
