import Files
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct LogReaderTests {
    /// Lends a log of `blocks` blocks.
    private func withLog(
        _ blocks: Int, segmentLength: Int = 64 << 20, _ body: (CommittedLog) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let log = CommittedLog(in: directory, segmentLength: segmentLength)
            try log.fill(blocks)
            try body(log)
        }
    }

    /// Checks that only the first `blocks` blocks of the log are read.
    private func check(
        _ log: CommittedLog, _ blocks: Int, isDamaged: Bool, _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let read = try log.read()
        #expect(read.frames == log.frames(blocks), comment, sourceLocation: sourceLocation)
        #expect((read.damage != nil) == isDamaged, comment, sourceLocation: sourceLocation)
        // Old bytes after the position where the log continues must not be read as part of it.
        let taken = try log.segments.map { try $0 + (isDamaged ? bytes(of: log.path($0)).count : 0) }.max()
        #expect(read.end >= taken ?? 0, comment, sourceLocation: sourceLocation)
    }

    @Test func thereMayBeNoLog() throws {
        try withTemporaryDirectory { directory in
            for place in [directory, Directory(directory.path.appending("missing"))] {
                #expect(try LogReader.identifier(in: place) == nil)
                var reader = LogReader(place)
                try reader.forEachFrame { _ in Issue.record("a frame") }
                #expect(reader.end == 0 && reader.damage == nil)
            }
        }
    }

    @Test func theIdentifierIsRead() throws {
        try withLog(2) { log in
            #expect(try LogReader.identifier(in: log.directory) == "L1")
            var reader = LogReader(log.directory)
            try reader.forEachFrame { _ in }
        }
    }

    // MARK: Torn

    @Test func aLogCutAnywhereIsAPrefix() throws {
        try withLog(6) { log in
            let whole = try bytes(of: log.path(0))
            for length in 0...whole.count {
                try write(whole[..<length], to: log.path(0))
                let count = log.blocks.count { $0.end <= length }
                let read = try log.read()
                #expect(read.frames == log.frames(count))
                #expect(read.damage == nil)
                #expect(read.end == max(1, count == 0 ? 0 : log.blocks[count - 1].end))
            }
        }
    }

    @Test func theLastSegmentCutAnywhereIsAPrefix() throws {
        try withLog(14, segmentLength: 400) { log in
            let last = try #require(log.segments.last)
            #expect(last > 0)
            let whole = try bytes(of: log.path(last))
            for length in 0...whole.count {
                try write(whole[..<length], to: log.path(last))
                try check(log, log.blocks.count { $0.end <= last + length }, isDamaged: false, "\(length)")
            }
        }
    }

    /// A program killed during a write may leave part of it; a power cut keeps an arbitrary subset of the pages.
    @Test func whateverIsBehindTheLastBlockIsTorn() throws {
        try withLog(5) { log in
            let whole = try bytes(of: log.path(0))
            let tails: [[UInt8]] = [
                [0], [UInt8](repeating: 0, count: 5000), Array("HFW1".utf8), Array(whole[..<100]),
                // An older block, also at the position where the next one would begin.
                Array(whole[..<log.blocks[0].end]), [UInt8](repeating: 0, count: 64) + whole[..<log.blocks[0].end],
                Array(whole[log.blocks[2].position...]),
            ]
            for tail in tails {
                try write(whole + tail, to: log.path(0))
                try check(log, 5, isDamaged: false)
            }
        }
    }

    @Test(arguments: [5, 14])
    func aFlippedBitInTheLastBlockTearsIt(count: Int) throws {
        try withLog(count, segmentLength: 400) { log in
            let last = try #require(log.blocks.last)
            let whole = try bytes(of: log.path(last.segment))
            for offset in (last.position - last.segment)..<whole.count {
                var flipped = whole
                flipped[offset] ^= 1 << (offset % 8)
                try write(flipped, to: log.path(last.segment))
                try check(log, count - 1, isDamaged: false, "byte \(offset)")
            }
        }
    }

    /// A new segment in which nothing was durable may be empty, torn or full of zeros.
    @Test(arguments: [0, 5])
    func aTornFirstBlockIsNoDamageLaterEither(count: Int) throws {
        for tail in [
            [], [0], Array("HFW1 and so on, as long as a header or longer".utf8), [UInt8](repeating: 0, count: 4096),
        ] {
            try withLog(count) { log in
                let end = log.blocks.last?.end ?? 0
                try write(tail, to: log.path(end))
                try check(log, count, isDamaged: false)
                // The recorder continues after it and is killed at once, twice.
                let second = CommittedLog(in: log.directory, position: try log.read().end)
                try second.fill(1)
                #expect(try log.read().damage == nil)
                #expect(try log.read().frames == log.frames() + second.frames())
                try write(tail, to: log.path(second.blocks[0].end))
                let third = CommittedLog(in: log.directory, position: try log.read().end)
                try third.fill(2)
                #expect(try log.read().damage == nil)
                #expect(try log.read().frames == log.frames() + second.frames() + third.frames())
            }
        }
    }

    // MARK: Damaged

    /// Flips every bit of blocks that a later block, in the same segment or a later one, calls durable.
    @Test(arguments: [5, 9])
    func aFlippedBitInADurableBlockIsDamage(count: Int) throws {
        try withLog(count, segmentLength: 400) { log in
            for block in log.blocks.dropLast() {
                let whole = try bytes(of: log.path(block.segment))
                let start = block.position - block.segment
                let index = try #require(log.blocks.firstIndex { $0 === block })
                for offset in start..<(start + block.count) {
                    // All bits of the header, and one bit in each later byte.
                    for bit in 0..<8 where offset < start + LogBlock.headerLength || bit == offset % 8 {
                        var flipped = whole
                        flipped[offset] ^= 1 << bit
                        try write(flipped, to: log.path(block.segment))
                        let read = try log.read()
                        #expect(read.frames == log.frames(index), "bit \(bit) of byte \(offset)")
                        #expect(read.damage == LogReader.Damage(path: log.path(block.segment), offset: start))
                        #expect(read.end >= log.appender.position)
                    }
                }
                try write(whole, to: log.path(block.segment))
            }
        }
    }

    @Test func blocksInOtherPlacesAreDamage() throws {
        try withLog(0) { log in
            let number = log.appender.number(try SessionIdentifier("s1"))
            for text in ["first", "one", "two", "six", "last"] {
                log.appender.append(held: text, of: number)
                try log.commit()
            }
            let whole = try bytes(of: log.path(0))
            func range(_ index: Int) -> Range<Int> { log.blocks[index].position..<log.blocks[index].end }
            #expect(range(1).count == range(2).count && range(2).count == range(3).count)

            var swapped = whole
            swapped.replaceSubrange(range(1), with: whole[range(3)])
            swapped.replaceSubrange(range(3), with: whole[range(1)])
            try write(swapped, to: log.path(0))
            try check(log, 1, isDamaged: true)

            var doubled = whole
            doubled.replaceSubrange(range(3), with: whole[range(2)])
            try write(doubled, to: log.path(0))
            try check(log, 3, isDamaged: true)

            for zeros in [range(2), 0..<range(4).lowerBound, range(3).lowerBound..<(range(3).lowerBound + 1)] {
                var bytes = whole
                bytes.replaceSubrange(zeros, with: [UInt8](repeating: 0, count: zeros.count))
                try write(bytes, to: log.path(0))
                try check(log, log.blocks.count { $0.end <= zeros.lowerBound }, isDamaged: true)
            }

            // Bytes were inserted, or are missing in the middle.
            try write(whole[range(0)] + whole[range(2).lowerBound...], to: log.path(0))
            try check(log, 1, isDamaged: false)
        }
    }

    @Test func segmentsThatAreMissingAreDamage() throws {
        try withLog(30, segmentLength: 400) { log in
            let segments = try log.segments
            #expect(segments.count > 4)
            for (index, segment) in segments.enumerated().dropLast() {
                let whole = try bytes(of: log.path(segment))
                let before = log.blocks.count { $0.end <= segment }
                let behind = Array(log.blocks.filter { $0.segment > segment }.flatMap(\.frames))
                try Directory.removeFile(log.path(segment))
                try check(log, before, isDamaged: true, "segment \(index)")
                // The blocks after the damage can be read if only they are needed.
                let rest = try log.read(from: segments[index + 1])
                #expect(rest.damage == nil)
                #expect(rest.frames == behind)

                // The same with a block that lost its end.
                for length in [0, 40, whole.count - log.blocks[before].count, whole.count - 8, whole.count - 1] {
                    try write(whole[..<length], to: log.path(segment))
                    let read = try log.read()
                    #expect(read.damage?.path == log.path(segment), "segment \(index) of \(length) bytes")
                    #expect(read.frames == log.frames(log.blocks.count { $0.end <= segment + length }))
                }
                try write(whole, to: log.path(segment))
            }
            try Directory.removeFile(log.path(try #require(segments.last)))
            try check(log, log.blocks.count { $0.segment < segments[segments.count - 1] }, isDamaged: false)
        }
    }

    /// If the recorder was told that a write failed, the block is not in the log, even if all its bytes are there.
    @Test func aBlockThatWasNotDurableIsNotReadLater() throws {
        try withLog(3) { log in
            log.appender.append(held: "not durable", of: log.appender.number(try SessionIdentifier("s2")))
            let block = try #require(log.appender.takeBlock())
            let whole = try bytes(of: log.path(0))
            try write(whole + block.bytes(synced: block.position), to: log.path(0))
            log.appender.beginSegment()
            try log.fill(2)
            try check(log, 5, isDamaged: false)
        }
    }

    /// A write failed, could not be undone, and the program ended before it wrote anything more.
    @Test func whatWasNotDurableBeforeARestartIsNoDamageLater() throws {
        try withLog(3) { log in
            let whole = try bytes(of: log.path(0))
            try write(whole + [UInt8](repeating: 7, count: 500), to: log.path(0))
            try write([], to: log.path(whole.count + 500))
            var reader = LogReader(log.directory)
            try reader.forEachFrame { _ in }
            #expect(reader.damage == nil && reader.end == whole.count + 501 && reader.synced == whole.count)
            let next = CommittedLog(in: log.directory, position: reader.end, synced: reader.synced)
            try next.fill(2)
            let read = try log.read()
            #expect(read.damage == nil)
            #expect(read.frames == log.frames() + next.frames())
        }
    }

    /// Damage before the needed position does not matter.
    @Test func whatIsNotNeededIsNotRead() throws {
        try withLog(30, segmentLength: 400) { log in
            let segments = try log.segments
            try write([1, 2, 3], to: log.path(segments[0]))
            try check(log, 0, isDamaged: true)
            for needed in [segments[1], segments[2] - 8, segments[3]] {
                let read = try log.read(from: needed)
                #expect(read.damage == nil)
                let first = segments.last { $0 <= needed } ?? 0
                #expect(read.frames == log.blocks.filter { $0.segment >= first }.flatMap(\.frames))
                #expect(read.end == log.appender.position)
            }
            #expect(try log.read(from: .max).end == log.appender.position)
        }
    }

    @Test func damageIsSaidInASentence() {
        let damage = LogReader.Damage(path: "/data/recordings/.wal/0000000000000000.wal", offset: 128)
        #expect(
            "\(damage)"
                == "the write-ahead log /data/recordings/.wal/0000000000000000.wal is damaged at byte 128: data from there on is not used"
        )
    }
}
