import Files
import Messages
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct StreamFileTests {
    /// The frames of a stream in order, each step in a block of its own, and the stream's state after each.
    private struct Course {
        let stream: ScriptedStream
        var blocks: [LogBlock] = []
        var states: [ScriptedStream.State] = []

        init(_ kind: Int) throws {
            let (format, root) = logKinds[kind]
            stream = try ScriptedStream("phone_gyro", format, root)
        }

        mutating func step(_ body: (ScriptedStream) -> Void) throws {
            body(stream)
            blocks.append(try stream.takeBlock())
            states.append(stream.state)
        }

        /// A stream with two files, the second of which is being written.
        static func ofTwoFiles(_ kind: Int) throws -> Course {
            var course = try Course(kind)
            try course.step { $0.begin() }
            try course.step { $0.add(3) }
            try course.step { $0.lose(4) }
            try course.step { $0.add(0, isPaused: true) }
            try course.step { $0.add(2) }
            try course.step { $0.rotate() }
            try course.step { $0.beginEpoch() }
            try course.step { $0.add(30) }
            try course.step { $0.add(2) }
            return course
        }

        var name: LogName { stream.name }

        /// The stream's record when only its name is stored.
        var log: SessionRecord.Log {
            SessionRecord.Log(name: name, device: "phone", stream: "gyro", fields: ["uptime", "x", "y"])
        }

        func record() throws -> SessionRecord {
            SessionRecord(
                session: stream.session, task: "", step: "", streams: [], format: stream.format, root: stream.root,
                status: .running, startDate: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"))
        }

        /// Resumes from the files in the directory.
        func resume(
            _ log: SessionRecord.Log? = nil, in directory: Directory, calls: FileCalls = .unsynced
        ) throws -> StreamFile {
            let log = log ?? self.log
            let finished = FinishedName.byLog(try directory.names())[log.name] ?? []
            return try StreamFile(resuming: log, of: record(), in: directory, finished: finished, calls: calls)
        }
    }

    private func files(_ directory: Directory) throws -> [String: [UInt8]] {
        try Dictionary(
            uniqueKeysWithValues: directory.names().map { ($0, try bytes(of: directory.path.appending($0))) })
    }

    // MARK: Writing

    /// After every write, the files match the frames, so they parse.
    @Test(arguments: 0..<4)
    func filesAreValidAfterEveryWrite(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        try withTemporaryDirectory { directory in
            let file = StreamFile(course.name, in: directory, calls: .unsynced)
            for (block, state) in zip(course.blocks, course.states) {
                let sealed = try file.apply(block)
                try file.write()
                #expect(file.pendingBytes == 0)
                #expect(
                    file.extent
                        == state.open.map {
                            StreamFile.Extent(
                                index: state.finished.count, bytes: $0.count + course.stream.terminator.count,
                                samples: state.samples)
                        })
                #expect(try files(directory) == course.stream.files(state))
                for segment in sealed {
                    let finished = try segment.certify(in: directory)
                    let expected = try #require(state.finished.last)
                    #expect(finished.name == expected.name && finished.samples == expected.samples)
                    let path = directory.path.appending(finished.name)
                    #expect(try FinishedFile.measure(path) == (finished.bytes, finished.sha256))
                }
                let path = directory.path.appending(course.stream.fileName)
                let isParsed = try LogFixture().records(of: path) > 0
                #expect(isParsed)
            }
        }
    }

    /// The files do not depend on when, or in which parts, they are written.
    @Test(arguments: 0..<4)
    func howOftenItIsWrittenDoesNotMatter(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        for pattern in [0b0, 0b1010_1010, 0b1_0001_0001] {
            try withTemporaryDirectory { directory in
                let faults = Faults()
                let file = StreamFile(course.name, in: directory, calls: faults.failing())
                for (index, block) in course.blocks.enumerated() {
                    try file.apply(block)
                    if pattern & 1 << index != 0 { try file.write() }
                }
                try file.write()
                #expect(try files(directory) == course.stream.files(course.stream.state))
                // The first of the two files was synced before it got its name.
                #expect(faults.count(of: .sync) == 1)
                if pattern == 0 { #expect(faults.count(of: .write) == 4) }
            }
        }
    }

    @Test func whatWasSaidBeforeChangesNothing() throws {
        let course = try Course.ofTwoFiles(0)
        try withTemporaryDirectory { directory in
            let file = StreamFile(course.name, in: directory, calls: .unsynced)
            for block in course.blocks { try file.apply(block) }
            try file.write()
            // All blocks of the first file, once more.
            for block in course.blocks[..<5] { try file.apply(block) }
            try file.write()
            #expect(try files(directory) == course.stream.files(course.stream.state))
        }
    }

    /// A hole in the log must not reach a file unnoticed.
    @Test func recordsThatDoNotFollowAreRefused() throws {
        let course = try Course.ofTwoFiles(0)
        for missing in [1, 2, 4, 5, 7] {
            try withTemporaryDirectory { directory in
                let file = StreamFile(course.name, in: directory, calls: .unsynced)
                let error = try #require(throws: RecordingError.self) {
                    for (index, block) in course.blocks.enumerated() where index != missing { try file.apply(block) }
                }
                #expect(error.code == .unreadable)
            }
        }
    }

    @Test func aFileThatWasReplacedIsAnError() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.add(3) }
        try withTemporaryDirectory { directory in
            let file = StreamFile(course.name, in: directory, calls: .unsynced)
            try file.apply(course.blocks[0])
            try file.write()
            try Directory.removeFile(directory.path.appending(course.stream.fileName))
            try file.apply(course.blocks[1])
            let error = try #require(throws: RecordingError.self) { try file.write() }
            #expect(error.code == .notFound)
        }
    }

    // MARK: Failures

    /// A failed write may be repeated later: the file has its previous contents.
    @Test(arguments: 0..<4)
    func aWriteThatFailsIsRepeated(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        for (number, part) in [(2, 0), (2, 5), (3, 1), (4, 40)] {
            try withTemporaryDirectory { directory in
                let file = StreamFile(course.name, in: directory, calls: Faults().failing(write: number, after: part))
                var failures = 0
                for (block, state) in zip(course.blocks, course.states) where state.finished.isEmpty {
                    try file.apply(block)
                    let before = try files(directory)
                    do {
                        try file.write()
                    } catch is RecordingError {
                        failures += 1
                        #expect(try files(directory) == before)
                        continue
                    }
                    #expect(try files(directory) == course.stream.files(state))
                }
                #expect(failures == 1)
            }
        }
    }

    @Test func aSyncThatFailsIsFinal() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.add(3) }
        try course.step { $0.seal() }
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = StreamFile(course.name, in: directory, calls: faults.failing(.sync, number: 1))
            try file.apply(course.blocks[0])
            try file.write()
            let handle = try #require(file.beginSync())
            let error = try #require(throws: RecordingError.self) { try handle.sync() }
            #expect(throws: error) { try file.noteSync(error) }
            #expect(file.beginSync() == nil)
            // Regardless of later calls.
            try file.apply(course.blocks[1])
            #expect(throws: error) { try file.write() }
            #expect(throws: error) { try file.noteSync(nil) }
            #expect(throws: error) { try file.apply(course.blocks[2]) }
            #expect(faults.count(of: .sync) == 1)
            #expect(try directory.names() == [course.stream.fileName])
        }
    }

    /// The file may be larger than the memory, and the disk may be full before the copy is complete.
    @Test(arguments: [nil, 3] as [Int?])
    func afterAFailedSyncAFileIsCopiedInPieces(failing number: Int?) throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let calls = faults.failing(.write, number: number ?? .max, with: .noSpace)
            let file = StreamFile(course.name, in: directory, calls: calls)
            try file.apply(course.blocks[0])
            let path = directory.path.appending(course.stream.fileName)
            let error = RecordingError(.ioError, action: "sync", path: path)
            #expect(throws: error) { try file.noteSync(error) }
            let whole = [1, 2, 3].flatMap { [UInt8](repeating: $0, count: 900_000) }
            try write(whole, to: path)
            let old = try OpenFile(path, .readOnly, action: "read")
            let failure = RecordingError.thrown { () throws(RecordingError) in try file.replaceAfterFailedSync() }
            #expect(failure?.code == (number == nil ? nil : RecordingError.Code.noSpace))
            #expect(old.isFile(at: path) == (number != nil))
            #expect(try directory.names() == [course.stream.fileName])
            let isSame = try bytes(of: path) == whole
            #expect(isSame)
            // The beginning of the file, and the pieces.
            #expect(faults.count(of: .write) == number ?? 4)
        }
    }

    @Test func recordsMayBeWrittenWhileTheFileIsSynced() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.add(3) }
        try course.step { $0.add(4) }
        try course.step { $0.seal() }
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = StreamFile(course.name, in: directory, calls: faults.failing())
            for block in course.blocks[..<2] { try file.apply(block) }
            try file.write()
            let handle = try #require(file.beginSync())
            try file.apply(course.blocks[2])
            try file.write()
            try handle.sync()
            try file.noteSync(nil)
            // The sync began before these were written, so it does not cover them.
            try #require(file.beginSync()).sync()
            try file.noteSync(nil)
            #expect(file.beginSync() == nil)
            let sealed = try file.apply(course.blocks[3])
            #expect(faults.count(of: .sync) == 2)
            try expectWhole(sealed, in: directory)
        }
    }

    /// The same at the end of a file.
    @Test func aFileThatCanNotBeSyncedGetsNoName() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.seal() }
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = StreamFile(course.name, in: directory, calls: faults.failing(.sync, number: 1))
            try file.apply(course.blocks[0])
            for _ in 0..<2 { #expect(throws: RecordingError.self) { try file.apply(course.blocks[1]) } }
            #expect(faults.count(of: .sync) == 1)
            #expect(faults.count(of: .rename) == 0)
        }
    }

    @Test func whatIsDurableIsNotSyncedAgain() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.add(2) }
        try course.step { $0.seal() }
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = StreamFile(course.name, in: directory, calls: faults.failing())
            for block in course.blocks[..<2] { try file.apply(block) }
            try file.write()
            try #require(file.beginSync()).sync()
            try file.noteSync(nil)
            #expect(file.beginSync() == nil)
            let sealed = try file.apply(course.blocks[2])
            #expect(faults.count(of: .sync) == 1)
            try expectWhole(sealed, in: directory)
        }
    }

    /// Checks that the hash of a finished file is that of its bytes on disk.
    private func expectWhole(_ sealed: [SealedFile], in directory: Directory) throws {
        let finished = try #require(sealed.first).certify(in: directory)
        #expect(try FinishedFile.measure(directory.path.appending(finished.name)) == (finished.bytes, finished.sha256))
    }

    /// Bytes are hashed as they are written, and never read again.
    @Test(arguments: 0..<4)
    func allThatIsWrittenIsHashed(kind: Int) throws {
        let log = LogFixture()
        let (format, root) = logKinds[kind]
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, format, root)
            for batch in log.batches(format) {
                try log.append(batch, to: file)
                #expect(file.hash.count == file.stableByteCount)
            }
        }
    }

    // MARK: Recovery

    /// Killed after the write of any block, with the blocks applied again: no reader sees a file become shorter or change earlier
    /// bytes.
    @Test(arguments: 0..<4)
    func afterAKillNoFileBecomesShorter(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        for count in 1...course.blocks.count {
            try withTemporaryDirectory { directory in
                let first = StreamFile(course.name, in: directory, calls: .unsynced)
                for block in course.blocks[..<count] { try first.apply(block) }
                try first.write()
                let watch = GrowthWatch()
                let second = try course.resume(in: directory, calls: watch.calls)
                for block in course.blocks { try second.apply(block) }
                try second.finishResuming()
                #expect(try files(directory) == course.stream.files(course.stream.state))
                #expect(watch.shrinks == 0, "killed after \(count) blocks")
                #expect(second.extent?.samples == course.stream.state.open.map { _ in course.stream.state.samples })
            }
        }
    }

    /// The kernel may have accepted part of a write when the program was killed.
    @Test(arguments: 0..<4)
    func afterAKillInAWriteRecordsStay(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        let whole = try #require(course.stream.files(course.stream.state)[course.stream.fileName])
        let known = course.states[6].open?.count ?? 0
        for length in stride(from: known, to: whole.count, by: 13) {
            try withTemporaryDirectory { directory in
                let first = StreamFile(course.name, in: directory, calls: .unsynced)
                for block in course.blocks[..<7] { try first.apply(block) }
                try first.write()
                let path = directory.path.appending(course.stream.fileName)
                try write(whole[..<length], to: path)
                let watch = GrowthWatch()
                let second = try course.resume(in: directory, calls: watch.calls)
                for block in course.blocks { try second.apply(block) }
                try second.finishResuming()
                #expect(try files(directory) == course.stream.files(course.stream.state))
                #expect(watch.shrinks == 0, "killed after \(length) bytes")
            }
        }
    }

    /// A power cut may leave nothing after the durable place, any beginning, zeros, or unwritten pages.
    @Test(arguments: 0..<4)
    func whatAPowerCutLeftIsWrittenAgain(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        let expected = course.stream.files(course.stream.state)
        let whole = try #require(expected[course.stream.fileName])
        let durable = (course.states[6].open?.count ?? 0) + course.stream.terminator.count
        var log = course.log
        let finished = course.stream.state.finished[0]
        log.files = [FinishedFile(name: finished.name, bytes: finished.bytes.count, samples: 5, sha256: "")]
        log.durable = DurablePlace(file: 1, bytes: durable, samples: course.states[6].samples, epoch: "E2", next: 0)
        let known = durable - course.stream.terminator.count
        var leftovers: [[UInt8]] = stride(from: known, through: whole.count, by: 7).map { Array(whole[..<$0]) }
        for start in stride(from: known, to: whole.count, by: 97) {
            leftovers.append(whole[..<start] + [UInt8](repeating: 0, count: whole.count - start))
            var holed = whole
            for place in start..<min(start + 64, whole.count) { holed[place] = 0 }
            leftovers.append(holed)
            leftovers.append(whole[..<start] + [UInt8](repeating: 0, count: 9000))
        }
        leftovers.append(whole + whole)
        for leftover in leftovers {
            try withTemporaryDirectory { directory in
                try write(finished.bytes, to: directory.path.appending(finished.name))
                try write(leftover, to: directory.path.appending(course.stream.fileName))
                let file = try course.resume(log, in: directory)
                for block in course.blocks[7...] { try file.apply(block) }
                try file.finishResuming()
                #expect(try files(directory) == expected)
                #expect(file.extent?.index == 1 && file.extent?.samples == 32)
            }
        }
    }

    /// The file may have frames that the log lost; they are removed.
    @Test func whatTheLogDoesNotKnowIsCut() throws {
        let course = try Course.ofTwoFiles(2)
        try withTemporaryDirectory { directory in
            let first = StreamFile(course.name, in: directory, calls: .unsynced)
            for block in course.blocks { try first.apply(block) }
            try first.write()
            let second = try course.resume(in: directory)
            for block in course.blocks.dropLast() { try second.apply(block) }
            try second.finishResuming()
            #expect(try files(directory) == course.stream.files(course.states[course.states.count - 2]))
        }
    }

    /// A file with its final name is complete, whether or not it is listed; its frames are skipped.
    @Test(arguments: 0..<4)
    func aFileThatHasItsNameIsTakenOver(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        for count in 6...course.blocks.count {
            try withTemporaryDirectory { directory in
                let first = StreamFile(course.name, in: directory, calls: .unsynced)
                for block in course.blocks[..<count] { try first.apply(block) }
                try first.write()
                let name = course.stream.state.finished[0].name
                let inode = try directory.path.appending(name).stat().inode
                let second = try course.resume(in: directory)
                var sealed: [FinishedFile] = []
                for block in course.blocks {
                    for segment in try second.apply(block) { sealed.append(try segment.certify(in: directory)) }
                }
                try second.finishResuming()
                #expect(sealed.map(\.name) == [name])
                #expect(sealed.map(\.samples) == [5])
                #expect(try FinishedFile.measure(directory.path.appending(name)) == (sealed[0].bytes, sealed[0].sha256))
                #expect(try directory.path.appending(name).stat().inode == inode)
                #expect(try files(directory) == course.stream.files(course.stream.state))
            }
        }
    }

    @Test func aFinishedFileOfAnotherLengthIsAnError() throws {
        let course = try Course.ofTwoFiles(0)
        try withTemporaryDirectory { directory in
            let finished = course.stream.state.finished[0]
            try write(finished.bytes.dropLast(3), to: directory.path.appending(finished.name))
            let file = try course.resume(in: directory)
            let sealed = try course.blocks[..<6].flatMap { try file.apply($0) }
            #expect(throws: RecordingError.self) { try sealed.first?.certify(in: directory) }
        }
    }

    /// The file was removed by someone else: it is begun again and accepts records.
    @Test func aFileThatWasRemovedIsBegunAgain() throws {
        var course = try Course(0)
        try course.step { $0.begin() }
        try course.step { $0.add(3) }
        let durable = try #require(course.stream.place)
        try withTemporaryDirectory { directory in
            var log = course.log
            log.durable = durable
            let file = try course.resume(log, in: directory)
            try file.finishResuming()
            #expect(file.extent == nil)
            // As the recorder does if recovery found no file.
            try course.step { $0.begin() }
            try course.step { $0.add(2) }
            for block in course.blocks[2...] { try file.apply(block) }
            try file.write()
            #expect(try files(directory) == course.stream.files(course.stream.state))
        }
    }

    /// A recovery can be repeated, whichever of its calls was the last.
    @Test(arguments: 0..<4)
    func aRecoveryThatIsInterruptedIsRepeated(kind: Int) throws {
        let course = try Course.ofTwoFiles(kind)
        let expected = course.stream.files(course.stream.state)
        func recover(_ directory: Directory, _ calls: FileCalls) throws {
            let file = try course.resume(in: directory, calls: calls)
            for block in course.blocks {
                try file.apply(block)
                try file.write()
            }
            try file.finishResuming()
        }
        for written in [1, 3, 5, 8] {
            var number = 0
            var isOver = false
            while !isOver {
                try withTemporaryDirectory { directory in
                    let first = StreamFile(course.name, in: directory, calls: .unsynced)
                    for block in course.blocks[..<written] { try first.apply(block) }
                    try first.write()
                    if written < 6 {
                        let path = directory.path.appending(course.stream.fileName)
                        try write(bytes(of: path).dropLast(7), to: path)
                    }
                    let faults = Faults()
                    do {
                        try recover(directory, faults.cutOff(after: number))
                        isOver = true
                    } catch is RecordingError {}
                    try recover(directory, .unsynced)
                    #expect(try files(directory) == expected, "interrupted after \(number) calls")
                }
                number += 1
            }
        }
    }
}

/// Counts how often a file becomes shorter.
private final class GrowthWatch: Sendable {
    private let count = Shared(0)

    var shrinks: Int { count.value }

    var calls: FileCalls {
        var calls = FileCalls.unsynced
        calls.resize = { descriptor, length throws(Errno) in
            if try Int64(descriptor.stat().size) > length { self.count.value += 1 }
            try FileCalls.system.resize(descriptor, length)
        }
        return calls
    }
}
