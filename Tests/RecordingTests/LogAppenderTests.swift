import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct LogAppenderTests {
    private let appender = LogAppender(log: "L1", position: 0)
    private let log = LogName("phone_gyro")

    private func session(_ name: String = "s1") throws -> SessionIdentifier { try SessionIdentifier(name) }

    private func frames() throws -> [FrameValue] { try #require(appender.takeBlock()).frames }

    @Test func whatIsAppendedIsReadBack() throws {
        let start = try WallTime(iso8601: "2026-11-21T02:55:01.123456Z")
        let record = SessionRecord(
            session: try session(), task: "W", step: "a", streams: ["phone/gyro"], format: .csv, root: .array,
            status: .running, startDate: start)
        let stream = SessionRecord.Log(name: log, device: "phone", stream: "gyro", fields: ["uptime", "x"], file: "f")
        let beginning = FileBeginning(index: 3, format: .csv, root: .array, startDate: "2026", header: "uptime,x")
        let gap = Gap(epoch: "E1", from: 2, count: 3, reason: .notRetained, date: start, afterUptime: nil)
        let end = FileEnd(index: 3, name: "phone_gyro-20261121025501.csv", bytes: 100, samples: 7)
        var counts = StreamCounts()
        counts.written = 7
        counts.paused = 1
        counts.recovered = 2
        counts.duplicates = 3
        let head = RecordsHead(
            file: 3, offset: 8, samples: 7, epoch: 2, next: 11, counts: counts, firstUptime: 1.5, lastUptime: -2,
            isMarkedStopped: true)

        let own = appender.number(try session())
        let number = appender.number(try session(), log)
        appender.append(record, of: own)
        appender.append(stream, of: number)
        appender.append(beginning, of: number)
        appender.append(Array("\n1,2".utf8), head, of: number)
        appender.append(gap, of: number)
        appender.append(end, of: number)
        Array("body".utf8).withUnsafeBytes { body in
            Array("matrix".utf8).withUnsafeBytes { appender.append(held: body, packed: $0, of: number) }
        }

        let block = try #require(appender.takeBlock())
        let frames = block.frames
        #expect(frames.map(\.kind) == [.log, .name, .session, .name, .stream, .begin, .records, .gap, .seal, .held])
        #expect(frames.map(\.number) == [0, own, own] + Array(repeating: number, count: 7))
        #expect(frames[0].text == "L1")
        #expect(frames[6].head == head)
        #expect(frames[6].records == "\n1,2")
        #expect(frames[9].contents == [4, 0, 0, 0, 0, 0, 0, 0] + Array("bodymatrix".utf8))
        var index = 0
        block.forEachFrame { frame in
            switch index {
            case 1: #expect(frame.name?.session.text == "s1" && frame.name?.log == nil)
            case 2: #expect(frame.decode(SessionRecord.self) == record)
            case 3: #expect(frame.name?.log == log)
            case 4: #expect(frame.decode(SessionRecord.Log.self) == stream)
            case 5: #expect(frame.decode(FileBeginning.self) == beginning)
            case 7: #expect(frame.decode(Gap.self) == gap)
            case 8: #expect(frame.decode(FileEnd.self) == end)
            default: break
            }
            index += 1
        }
    }

    /// Lists of files, gaps and intervals grow with the session; a frame must not.
    @Test func aDescriptionHasNoLists() throws {
        let start = try WallTime(iso8601: "2026-11-21T02:55:01.123456Z")
        var stream = SessionRecord.Log(name: log, device: "phone", stream: "gyro", fields: ["uptime", "x"])
        let plain = stream
        stream.gaps = [Gap(epoch: "E1", from: 2, count: 3, reason: .notRetained, date: start, afterUptime: nil)]
        stream.intervals = IntervalStatistics(nominalRate: 100)
        stream.files = [FinishedFile(name: "phone_gyro-20261121025501.csv", bytes: 10, samples: 1, sha256: "")]
        appender.append(stream, of: appender.number(try session(), log))
        try #require(appender.takeBlock()).forEachFrame { frame in
            if frame.kind == .stream { #expect(frame.decode(SessionRecord.Log.self) == plain) }
        }
    }

    @Test func recordsThatFollowShareAFrame() throws {
        let one = appender.number(try session(), log)
        let other = appender.number(try session(), LogName("phone_gps"))
        appender.append(Array("a".utf8), RecordsHead(file: 0, offset: 2, samples: 1, next: 1), of: one)
        appender.append(Array("bc".utf8), RecordsHead(file: 0, offset: 3, samples: 3, next: 3), of: one)
        appender.append(Array("d".utf8), RecordsHead(file: 1, offset: 2, samples: 1, next: 4), of: one)
        appender.append(Array("x".utf8), RecordsHead(file: 0, offset: 2, samples: 1, next: 1), of: other)
        appender.append(Array("e".utf8), RecordsHead(file: 1, offset: 3, samples: 2, next: 5), of: one)
        let records = try frames().filter { $0.kind == .records }
        #expect(records.map(\.records) == ["abc", "d", "x", "e"])
        #expect(
            records.map(\.head) == [
                RecordsHead(file: 0, offset: 2, samples: 3, next: 3),
                RecordsHead(file: 1, offset: 2, samples: 1, next: 4),
                RecordsHead(file: 0, offset: 2, samples: 1, next: 1),
                RecordsHead(file: 1, offset: 3, samples: 2, next: 5),
            ])
        // Records are not merged across blocks: each block must be valid alone.
        appender.append(Array("f".utf8), RecordsHead(file: 1, offset: 4, samples: 3, next: 6), of: one)
        #expect(try frames().map(\.kind) == [.records])
    }

    /// A head gives the progress of one epoch only; records of another epoch in the frame would lose theirs in a crash.
    @Test func recordsOfAnotherEpochHaveAFrameOfTheirOwn() throws {
        let number = appender.number(try session(), log)
        let old = RecordsHead(file: 0, offset: 2, samples: 1, next: 40)
        var new = RecordsHead(file: 0, offset: 3, samples: 2, next: 1)
        new.epoch = 1
        appender.append(Array("a".utf8), old, of: number)
        appender.append(Array("b".utf8), new, of: number)
        let records = try frames().filter { $0.kind == .records }
        #expect(records.map(\.records) == ["a", "b"])
        #expect(records.map(\.head) == [old, new])
    }

    @Test func cancelledRecordsLeaveNothing() throws {
        let number = appender.number(try session(), log)
        appender.cancelRecords(appender.beginRecords(of: number, file: 0, epoch: 0))
        appender.append(Array("a".utf8), RecordsHead(file: 0, offset: 2, samples: 1, next: 1), of: number)
        let begun = appender.beginRecords(of: number, file: 0, epoch: 0)
        #expect(begun.isContinued)
        appender.buffer.append(Array("torn".utf8))
        appender.cancelRecords(begun)
        appender.append(Array("b".utf8), RecordsHead(file: 0, offset: 3, samples: 2, next: 2), of: number)
        let another = appender.beginRecords(of: number, file: 1, epoch: 0)
        #expect(!another.isContinued)
        appender.buffer.append(Array("torn".utf8))
        appender.cancelRecords(another)
        let frames = try frames()
        #expect(frames.map(\.kind) == [.log, .name, .records])
        #expect(frames[2].records == "ab")
    }

    @Test func namesStandOncePerSegment() throws {
        let one = appender.number(try session(), log)
        let other = appender.number(try session("s2"))
        let kinds: [FrameKind] = [.log, .name, .held]
        appender.append(held: "a", of: one)
        #expect(try frames().map(\.kind) == kinds)
        appender.append(held: "b", of: one)
        #expect(try frames().map(\.kind) == [.held])
        #expect(appender.segment == 0)
        appender.beginSegment()
        #expect(appender.segment == appender.position)
        appender.append(held: "c", of: one)
        appender.append(held: "d", of: one)
        let block = try #require(appender.takeBlock())
        #expect(block.frames.map(\.kind) == kinds + [.held])
        #expect(block.segment == block.position)
        appender.append(held: "e", of: other)
        #expect(try frames().map(\.number) == [other, other])
    }

    @Test func blocksFollowOnOneAnother() throws {
        let appender = LogAppender(log: "L1", position: 4096, segmentLength: 1000)
        let number = appender.number(try session(), log)
        #expect(appender.takeBlock() == nil)
        var position = 4096
        var segments: Set<Int> = []
        for length in 0..<60 {
            #expect(appender.position == position)
            appender.append(held: String(repeating: "x", count: length), of: number)
            #expect(appender.count > 0)
            let block = try #require(appender.takeBlock())
            #expect(appender.count == 0)
            #expect(block.position == position)
            #expect(block.count.isMultiple(of: 8))
            // Each segment has the configured length, or up to one block more.
            #expect(block.position - block.segment < 1000)
            #expect((block.frames.first?.kind == .log) == (block.position == block.segment))
            segments.insert(block.segment)
            position = block.end
        }
        #expect(segments.count > 4)
        #expect(segments.min() == 4096)
    }

    /// The number of a finished session has no name in later segments.
    @Test func aForgottenNumberHasNoName() throws {
        let number = appender.number(try session(), log)
        appender.forget(number)
        #expect(appender.number(try session(), log) != number)
        appender.append(held: "a", of: number)
        #expect(try frames().map(\.kind) == [.log, .held])
    }
}
