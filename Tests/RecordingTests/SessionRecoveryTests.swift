import Files
import FoundationEssentials
import Glibc
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

/// Sessions that are recovered from their files alone: those of 0.6, with a journal, and copies without the write-ahead log.
@Suite(.timeLimit(.minutes(5)))
struct SessionRecoveryTests {
    private struct Outcome: Equatable {
        var record: SessionRecord
        var positions: [Marker.Position]
        var file: StreamFile.Extent?
        var files: [String: [UInt8]]

        var log: SessionRecord.Log { record.logs[0] }
        var counts: StreamCounts { log.counts }
        var gaps: [Gap] { log.gaps }
        var lastUptime: Double? { log.lastUptime }
        var isMarkedStopped: Bool { log.isMarkedStopped == true }
    }

    private func files(of directory: Directory) throws -> [String: [UInt8]] {
        let path = directory.path.string
        var files: [String: [UInt8]] = [:]
        for name in try directory.names() {
            files[name] = Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
        }
        return files
    }

    private func restore(_ files: [String: [UInt8]], to directory: Directory) throws {
        for name in try directory.names() where files[name] == nil {
            try FileManager.default.removeItem(atPath: directory.path.appending(name).string)
        }
        for (name, bytes) in files { try write(bytes, to: directory.path.appending(name)) }
    }

    private func recover(_ log: RecordedLog, calls: FileCalls = .unsynced) throws -> Outcome {
        let recovered = try log.directory.recover(calls: calls)
        let found = try #require(recovered.logs[log.log])
        return Outcome(
            record: recovered.record, positions: found.positions, file: found.file,
            files: try files(of: log.directory.directory))
    }

    /// Recovers the session from its files, one of them with different bytes.
    private func recover(
        _ log: RecordedLog, from files: [String: [UInt8]], with bytes: some Sequence<UInt8>, in path: FilePath
    ) throws -> Outcome {
        try restore(files, to: log.directory.directory)
        try write(bytes, to: path)
        return try recover(log)
    }

    /// The lengths to which a file is cut: around each record's end, and some others, different for each kind. A stride of 1
    /// tries all, which takes half a minute.
    private func lengths(_ count: Int, _ states: [RecordedLog.State], phase: Int) -> [Int] {
        let isNearEnd = Set(states.flatMap { ($0.end - 1)...($0.end + 2) })
        return (0...count).filter { $0 % Self.stride == 5 * phase || isNearEnd.contains($0) || $0 == count }
    }

    private static let stride = 23

    /// Checks the result of a recovery whose current file was cut to a length.
    private func check(
        _ outcome: Outcome, of log: RecordedLog, cutTo length: Int, before: RecordedLog.State? = nil,
        whole: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        // A marker that describes the stream is not known to be whole until something follows it.
        let kept = log.states.last { $0.end <= length && (!log.format.isTable || !$0.describes) }
        let name = log.fileName
        guard let kept else {
            #expect(outcome.file == nil, sourceLocation: sourceLocation)
            #expect(outcome.files[name] == nil, sourceLocation: sourceLocation)
            #expect(outcome.record.logs[0].file == name, sourceLocation: sourceLocation)
            #expect(outcome.counts.written == before?.written ?? 0, sourceLocation: sourceLocation)
            return
        }
        #expect(outcome.positions == kept.positions, "cut to \(length)", sourceLocation: sourceLocation)
        #expect(outcome.counts.written == kept.written, sourceLocation: sourceLocation)
        #expect(outcome.counts.paused == kept.paused, sourceLocation: sourceLocation)
        #expect(outcome.file?.samples == kept.samplesInFile, sourceLocation: sourceLocation)
        #expect(outcome.gaps.map(\.from) == kept.gaps.map(\.from), "cut to \(length)", sourceLocation: sourceLocation)
        #expect(outcome.gaps.map(\.count) == kept.gaps.map(\.count), sourceLocation: sourceLocation)
        #expect(outcome.isMarkedStopped == kept.isStop, sourceLocation: sourceLocation)
        let terminator = whole.suffix(log.terminator)
        #expect(outcome.files[name] == Array(whole[..<kept.end] + terminator), sourceLocation: sourceLocation)
    }

    /// Lends a log with everything that changes positions.
    private func withLog(_ kind: Int, isStored: Bool = true, _ body: (RecordedLog) throws -> Void) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.commit()
            try log.samples(1)
            try log.gap(5, isStored: isStored)
            try log.samples(1)
            try log.commit()
            try log.leaveOut(3)
            try log.samples(2)
            try log.beginEpoch("E2")
            try log.samples(1)
            try log.gap(0, isStored: isStored)
            try log.beginEpoch("E3")
            try log.samples(2)
            try body(log)
        }
    }

    @Test(arguments: 0..<5)
    func aLogCutAnywhereGoesOnExactlyWhereItEnds(kind: Int) throws {
        try withLog(kind) { log in
            try log.stop()
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for length in lengths(current.count, log.states, phase: kind) {
                let outcome = try recover(log, from: whole, with: current[..<length], in: log.path)
                check(outcome, of: log, cutTo: length, whole: current)
                if length % 16 < 3 { #expect(try recover(log) == outcome) }
            }
        }
    }

    /// A copy without the write-ahead log, whose `session.json` has the position up to which the file is durable.
    @Test(arguments: 0..<5, [false, true])
    func aCopyContinuesExactlyWhereItEnds(kind: Int, isStored: Bool) throws {
        try withRecordedLog(kind, .record) { log in
            try log.samples(2)
            try log.commit()
            try log.samples(1)
            try log.leaveOut(3)
            try log.samples(2)
            try log.gap(5)
            try log.commit()
            try log.samples(1)
            try log.gap(2, isStored: isStored)
            try log.beginEpoch("E2")
            try log.samples(3)
            try log.gap(0, isStored: isStored)
            try log.beginEpoch("E3")
            try log.samples(2)
            try log.stop()
            let durable = try #require(log.directory.record().logs[0].durable)
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for length in lengths(current.count, log.states, phase: kind)
            where length >= durable.bytes - log.terminator {
                for zeros in [0, 5000] {
                    let outcome = try recover(
                        log, from: whole, with: current[..<length] + [UInt8](repeating: 0, count: zeros), in: log.path)
                    // Zeros after a record prove that nothing follows it.
                    if zeros == 0 || log.states.contains(where: { $0.end == length }) {
                        check(outcome, of: log, cutTo: length, whole: current)
                    }
                    #expect(try recover(log) == outcome)
                }
            }
        }
    }

    /// The durable place is in a file that has its final name.
    @Test(arguments: 0..<5)
    func aCopyContinuesInAFileBehindItsDurablePlace(kind: Int) throws {
        try withRecordedLog(kind, .record) { log in
            try log.samples(2)
            try log.commit()
            try log.samples(1)
            try log.gap(4)
            let before = try #require(log.states.last)
            try log.rotate(isListed: false)
            try log.samples(2)
            try log.beginEpoch("E2")
            try log.samples(2)
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for length in lengths(current.count, log.states, phase: kind) {
                let outcome = try recover(log, from: whole, with: current[..<length], in: log.path)
                check(outcome, of: log, cutTo: length, before: before, whole: current)
                #expect(outcome.record.logs[0].files.map(\.samples) == [3])
            }
        }
    }

    /// Gaps that were not stored are found by their markers, even before the last commit.
    @Test(arguments: 0..<5)
    func gapsAreFoundOnce(kind: Int) throws {
        try withLog(kind, isStored: false) { log in
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for state in log.states.dropFirst(2) {
                let outcome = try recover(log, from: whole, with: current[..<state.end], in: log.path)
                #expect(outcome.gaps.map(\.from) == state.gaps.map(\.from))
                #expect(outcome.gaps.first?.reason == state.gaps.first?.reason)
                #expect(outcome.gaps.first?.afterUptime == state.gaps.first?.afterUptime)
                #expect(outcome.record.logs[0].gaps == outcome.gaps)
            }
        }
    }

    /// A power cut may leave zeros, garbage or an old page after the last commit.
    @Test(arguments: 0..<5)
    func whatIsNoRecordIsCutOff(kind: Int) throws {
        try withLog(kind) { log in
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for tail in [[UInt8](repeating: 0, count: 10_000), Array("\n\"torn".utf8), Array("\n]\u{0}\u{0}".utf8)] {
                for state in log.states.dropFirst() {
                    let outcome = try recover(log, from: whole, with: current[..<state.end] + tail, in: log.path)
                    check(outcome, of: log, cutTo: state.end, whole: current)
                }
            }
        }
    }

    /// Markers in the log have the positions, too.
    @Test(arguments: 0..<5)
    func aJournalCutAnywhereCostsNothing(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.commit()
            try log.gap(5)
            try log.samples(1)
            try log.rotate(isListed: false)
            try log.samples(2)
            try log.commit()
            try log.samples(1)
            let whole = try files(of: log.directory.directory)
            let journal = try #require(whole[JournalEntry.fileName])
            let state = try #require(log.states.last)
            for length in Swift.stride(from: 0, through: journal.count, by: 61) {
                let outcome = try recover(
                    log, from: whole, with: journal[..<length], in: log.path(of: JournalEntry.fileName))
                #expect(outcome.positions == state.positions)
                #expect(outcome.counts.written == state.written)
                #expect(outcome.file?.samples == state.samplesInFile)
                #expect(outcome.gaps == state.gaps)
            }
            try restore(whole, to: log.directory.directory)
            try FileManager.default.removeItem(atPath: log.path(of: JournalEntry.fileName).string)
            #expect(try recover(log).positions == state.positions)
        }
    }

    @Test(arguments: 0..<5)
    func finishedFilesThatAreNotListedAreAdopted(kind: Int) throws {
        try withLog(kind) { log in
            try log.rotate(isListed: true)
            try log.samples(3)
            try log.rotate(isListed: false)
            try log.samples(4)
            try log.leaveOut(2)
            try log.samples(1)
            let before = try #require(log.states.last)
            try log.rotate(isListed: false)
            try log.samples(2)
            let whole = try files(of: log.directory.directory)
            let current = try bytes(of: log.path)
            for length in lengths(current.count, log.states, phase: kind) {
                let outcome = try recover(log, from: whole, with: current[..<length], in: log.path)
                check(outcome, of: log, cutTo: length, before: before, whole: current)
                let files = outcome.record.logs[0].files
                #expect(files.map(\.samples) == [9, 3, 5])
                #expect(
                    files.map(\.name)
                        == files.compactMap { FinishedName($0.name, of: log.log) }.sorted().map(\.description))
                for file in files {
                    let (bytes, digest) = try FinishedFile.measure(log.path(of: file.name))
                    #expect((bytes, digest) == (file.bytes, file.sha256))
                }
            }
        }
    }

    /// A file that was renamed, and torn by a power cut before its sync, becomes the current file again; later samples were not
    /// durable and are replayed.
    @Test(arguments: 0..<5)
    func aFinishedFileThatWasTornIsGoneOnWith(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.commit()
            try log.samples(2)
            let states = log.states
            try log.rotate(isListed: false)
            try log.samples(1)
            try log.rotate(isListed: false)
            try log.samples(1)
            let directory = log.directory.directory
            let whole = try files(of: directory)
            let first = try #require(try directory.names().compactMap { FinishedName($0, of: log.log) }.min())
            let torn = try #require(whole[first.description])
            for length in Swift.stride(from: states[2].end + kind, to: torn.count, by: 19) {
                let kept = try #require(states.last { $0.end <= length })
                if kept.end == states[states.count - 1].end, log.format != .json { continue }
                let outcome = try recover(
                    log, from: whole, with: torn[..<length], in: log.path(of: first.description))
                #expect(outcome.positions == kept.positions)
                #expect(outcome.file?.samples == kept.samplesInFile)
                #expect(outcome.counts.written == kept.written)
                #expect(outcome.record.logs[0].files == [])
                #expect(
                    outcome.files.keys.sorted()
                        == [JournalEntry.fileName, log.fileName, "session.json"].sorted())
                #expect(try recover(log) == outcome)
            }
        }
    }

    /// A crash in every intermediate state of the recovery.
    @Test(arguments: [0, 2])
    func aRecoveryThatIsCutOffIsDoneAgain(kind: Int) throws {
        try withLog(kind) { log in
            let torn = log.states
            try log.rotate(isListed: false)
            try log.samples(3)
            try log.rotate(isListed: false)
            try log.samples(3)
            let directory = log.directory.directory
            let whole = try files(of: directory)
            let names = try directory.names().compactMap { FinishedName($0, of: log.log) }.sorted().map(\.description)
            var cases = [whole, whole, whole]
            cases[0][log.fileName]?.removeLast(20)
            cases[1][names[0]] = Array(try #require(whole[names[0]])[..<(torn[torn.count - 2].end + 5)])
            cases[2][names[1]]?.removeLast(30)
            for files in cases {
                for journalTail in ["", "{\"torn"] {
                    var files = files
                    files[JournalEntry.fileName]? += Array(journalTail.utf8)
                    try restore(files, to: directory)
                    let faults = Faults()
                    let expected = try recover(log, calls: faults.cutOff(after: .max))
                    #expect(faults.count > 2)
                    for number in 0..<faults.count {
                        try restore(files, to: directory)
                        #expect(throws: RecordingError.self) {
                            try recover(log, calls: Faults().cutOff(after: number))
                        }
                        #expect(try recover(log) == expected, "cut off after \(number) calls")
                    }
                }
            }
        }
    }

    @Test func aFileThatIsMissingIsToBeMadeAnew() throws {
        try withLog(0) { log in
            let state = try #require(log.states.last)
            try log.rotate(isListed: false)
            try FileManager.default.removeItem(atPath: log.path.string)
            let outcome = try recover(log)
            #expect(outcome.file == nil)
            #expect(outcome.record.logs[0].file == log.fileName)
            #expect(outcome.record.logs[0].files.map(\.samples) == [9])
            #expect(outcome.positions == state.positions)
            #expect(!outcome.isMarkedStopped)
        }
    }

    @Test(arguments: [true, false])
    func aLogThatWasStoppedIsClosed(isCommitted: Bool) throws {
        try withLog(0) { log in
            try log.stop()
            if isCommitted { try log.commit() }
            let state = try #require(log.states.last)
            try log.seal()
            let outcome = try recover(log)
            #expect(outcome.isMarkedStopped)
            #expect(outcome.record.logs[0].file == nil)
            #expect(outcome.record.logs[0].files.map(\.samples) == [9])
            #expect(outcome.positions == state.positions)
        }
    }

    /// The last file of a log was renamed, and a power cut removed its end: the log continues in it.
    @Test(arguments: 0..<5)
    func aLogWhoseLastFileWasTornIsNotClosed(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.commit()
            try log.samples(2)
            try log.stop()
            let current = try bytes(of: log.path)
            let sealed = try log.seal()
            let path = log.path(of: sealed.name.description)
            let whole = try files(of: log.directory.directory)
            for state in log.states[2...].dropLast() {
                for tail in [[], Array(current.suffix(log.terminator)), [0, 0]] {
                    let outcome = try recover(log, from: whole, with: current[..<state.end] + tail, in: path)
                    check(outcome, of: log, cutTo: state.end, whole: current)
                    #expect(outcome.record.logs[0].file == log.fileName)
                    #expect(outcome.record.logs[0].files == [])
                    #expect(try recover(log) == outcome)
                }
            }
        }
    }

    @Test func whatIsOverNeedsNoRecovery() throws {
        try withLog(0) { log in
            #expect(log.directory.hasChecksums == false)
            try log.finish()
            #expect(log.directory.hasChecksums)
            let before = try files(of: log.directory.directory)
            let outcome = try recover(log)
            #expect(outcome.files == before)
            #expect(outcome.record == log.record)
            #expect(outcome.isMarkedStopped)
        }
    }

    /// A change of columns may be interrupted between the file and the stored record.
    @Test func theColumnsAreThoseOfTheFile() throws {
        try withLog(2) { log in
            var record = try log.directory.record()
            record.logs[0].fields = ["uptime", "x", "y", "z"]
            try log.directory.write(record)
            #expect(try recover(log).record.logs[0].fields == ["uptime", "x", "y"])
        }
    }

    /// The file of a new stream of which nothing was stored.
    @Test func aLogThatWasNeverStoredIsBegunAnew() throws {
        try withLog(0) { log in
            let stray = log.path(of: "phone_accelerometer.json")
            let line = JournalEntry(
                kind: .position, index: 7, log: LogName("phone_accelerometer"), segment: 0, bytes: 900, samples: 5,
                epoch: "E1", next: 5, date: log.record.startDate)
            try log.append(line)
            let expected = try recover(log)
            for content in [[], Array("[\n".utf8), try bytes(of: log.path)] {
                try write(content, to: stray)
                #expect(log.directory.verify().findings.contains { $0.subject == "phone_accelerometer.json" })
                #expect(try recover(log) == expected)
            }
            // Files that belong to no log stay.
            try write([1], to: log.path(of: "notes.txt"))
            #expect(try recover(log).files["notes.txt"] == [1])
        }
    }

    /// The disk refused the first block of the stream, and the recorder was killed before it stored the session.
    @Test(arguments: 0..<5, [false, true])
    func aLogThatOnlyItsFilesKnowIsAdopted(kind: Int, isRotated: Bool) throws {
        try withRecordedLog(kind, .record) { log in
            try log.samples(3)
            if isRotated { try log.rotate(isListed: false) }
            try log.samples(2)
            try log.commit()
            let known = try recover(log)
            var record = try log.directory.record()
            record.logs = []
            try log.directory.write(record)
            let names = known.files.keys.filter { $0.hasPrefix("\(log.log)") }
            #expect(names.count == (isRotated ? 2 : 1))
            let findings = log.directory.verify().findings
            #expect(names.allSatisfy { name in findings.contains { $0.subject == name } })
            let found = try recover(log)
            #expect(names.allSatisfy { found.files[$0] == known.files[$0] })
            #expect(found.file == known.file && found.positions == known.positions)
            var expected = known.log
            expected.durable = nil
            expected.epochs[0].clock = try #require(found.log.epochs.first).clock
            expected.epochs[0].replay = ""
            // Dates in files have milliseconds.
            #expect(found.log.fileDate != nil)
            expected.fileDate = found.log.fileDate
            #expect(found.log == expected)
            #expect(abs(found.log.epochs[0].clock.uptime - 1000) < 1e-6)
        }
    }

    /// The same before the stream's first sample. A file that no recorder began stays.
    @Test(arguments: 0..<5, [false, true])
    func anUnknownFileWithoutASampleIsRemoved(kind: Int, isFinished: Bool) throws {
        try withRecordedLog(kind, .record) { log in
            try log.commit()
            if isFinished { try log.seal() }
            var record = try log.directory.record()
            record.logs = []
            try log.directory.write(record)
            let foreign = ["notes_2.csv", "notes-20261121025501.tsv", "notes_3.json"]
            for name in foreign { try write(Array("a,b\n1,2\n".utf8), to: log.path(of: name)) }
            try #require(mkfifo(log.path(of: "pipe_1.csv").string, 0o600) == 0)
            try Directory(log.path(of: "directory_1.csv")).createExclusively()
            _ = try log.directory.recover()
            let left = foreign + ["directory_1.csv", "pipe_1.csv", "session.json"]
            #expect(try Set(log.directory.directory.names()) == Set(left))
        }
    }

    @Test func whatIsWrittenBesideAFileIsRemoved() throws {
        try withLog(0) { log in
            for name in [".session.json.new", ".journal.ndjson.new"] {
                try write([1], to: log.path(of: name))
            }
            #expect(try recover(log).files.keys.allSatisfy { !$0.hasPrefix(".") })
        }
    }
}
