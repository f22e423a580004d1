import Files
import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

/// A recorder without a network: sessions of random streams whose frames, files and documents are written as the recorder does,
/// and the expected state of each after a recovery.
///
/// `crash` leaves one of the possible results of a kill or a power cut. The expected samples, files and places are computed
/// independently of what is written; see `ScriptedStream`.
final class ScriptedRecorder {
    final class Session {
        var record: SessionRecord
        let directory: SessionDirectory
        var number: UInt32
        var streams: [ScriptedStream] = []
        /// The log position before which the files are durable.
        var written: Int

        init(_ record: SessionRecord, _ directory: SessionDirectory, number: UInt32, written: Int) {
            self.record = record
            self.directory = directory
            self.number = number
            self.written = written
        }
    }

    /// The states of all streams when a block was durable.
    typealias States = [SessionIdentifier: [LogName: ScriptedStream.State]]

    let data: FilePath
    private(set) var sessions: [Session] = []
    /// The durable state of each stream.
    private(set) var committed: States = [:]
    private(set) var appender: LogAppender
    private var log: WriteAheadLog
    private var files: [SessionIdentifier: [LogName: StreamFile]] = [:]
    private var targets: [UInt32: (session: Session, stream: ScriptedStream, file: StreamFile)] = [:]
    private var unapplied: [LogBlock] = []
    private var random: SplitMix

    init(in data: FilePath, seed: UInt64, identifier: String = "L1") throws {
        self.data = data
        random = SplitMix(seed: seed)
        appender = LogAppender(log: identifier, position: 0, segmentLength: 6000)
        log = WriteAheadLog(
            in: WriteAheadLog.directory(in: data, shard: nil), synced: 0, calls: .unsynced)
        try SessionDirectory.recordings(in: data).create()
    }

    var logDirectory: Directory { WriteAheadLog.directory(in: data, shard: nil) }
    var directories: [SessionDirectory] { sessions.map(\.directory) }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    private func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    // MARK: Recording

    /// Performs random steps.
    func run(_ steps: Int) throws {
        for _ in 0..<steps {
            guard let session = sessions.randomElement(using: &random) else {
                try beginSession()
                continue
            }
            switch number(0...99) {
            case 0..<2 where sessions.count < 3: try beginSession()
            case 2..<6 where session.streams.count < 4: try beginStream(in: session)
            case 6..<30: try commit()
            case 30..<40: try apply(number(0...3))
            case 40..<43: try store(session)
            case 43..<45: try checkpoint(session)
            case 45..<47: appender.append(session.record, of: session.number)
            default:
                guard let stream = session.streams.randomElement(using: &random), stream.state.open != nil else {
                    continue
                }
                step(stream)
            }
        }
    }

    private func step(_ stream: ScriptedStream) {
        switch number(0...24) {
        case 0: stream.lose(number(1...9))
        case 1: stream.beginEpoch()
        case 2: stream.rotate()
        case 3: stream.mark(.pause)
        case 4: stream.add(number(1...5), isPaused: true)
        case 5: stream.hold("a batch \(number(0...1_000_000))")
        case 6: stream.end(number(0...(stream.state.epochs.count - 1)))
        case 7: stream.mark(.step)
        case 8 where chance(20):
            stream.mark(.stop)
            if chance(70) { stream.seal() }
        case 9: stream.add(200)
        default: stream.add(number(1...12))
        }
    }

    private func beginSession() throws {
        let (format, root) = logKinds[number(0...4)]
        var record = SessionRecord(
            session: try SessionIdentifier("s\(sessions.count + 1)"), task: "W", step: "", streams: ["phone/"],
            format: format, root: root, status: .running,
            startDate: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"))
        record.logPosition = LogPosition(log: appender.log, recorded: appender.position, written: appender.position)
        let directory = try SessionDirectory.create(record, in: data)
        sessions.append(
            Session(record, directory, number: appender.number(record.session), written: appender.position))
        try beginStream(in: sessions[sessions.count - 1])
    }

    private func beginStream(in session: Session) throws {
        let stream = try ScriptedStream(
            "stream\(session.streams.count)", of: session.record.session.text, session.record.format,
            session.record.root, appender: appender)
        session.streams.append(stream)
        track(stream, of: session, StreamFile(stream.name, in: session.directory.directory, calls: .unsynced))
        stream.begin()
        if chance(50) { stream.add(number(1...20)) }
    }

    private func track(_ stream: ScriptedStream, of session: Session, _ file: StreamFile) {
        files[session.record.session, default: [:]][stream.name] = file
        targets[stream.number] = (session, stream, file)
    }

    private var states: States {
        Dictionary(
            uniqueKeysWithValues: sessions.map { session in
                (
                    session.record.session,
                    Dictionary(uniqueKeysWithValues: session.streams.map { ($0.name, $0.state) })
                )
            })
    }

    /// Commits all appended frames to the log.
    func commit() throws {
        if let block = appender.takeBlock() {
            try log.append(block)
            unapplied.append(block)
        }
        committed = states
    }

    /// Simulates a disk that refuses uncommitted frames for the log. They go into the files only.
    func refuse() {
        if let block = appender.takeBlock() { unapplied.append(block) }
        appender.beginSegment()
    }

    /// Applies durable blocks to the files.
    func apply(_ count: Int = .max) throws {
        for block in unapplied.prefix(count) {
            var failure: (any Error)?
            block.forEachFrame { frame in
                do {
                    guard let (session, stream, file) = targets[frame.number] else { return }
                    if let sealed = try file.apply(frame) {
                        stream.listed.append(try sealed.certify(in: session.directory.directory))
                    }
                    if chance(10) { try file.write() }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
        unapplied.removeFirst(min(count, unapplied.count))
        for file in files.values.flatMap(\.values) where chance(30) { try file.write() }
    }

    /// Stores a session's record.
    func store(_ session: Session) throws {
        session.record.logs = session.streams.filter(\.state.isDescribed).map(\.description)
        session.record.logPosition = LogPosition(
            log: appender.log, recorded: appender.position, written: session.written)
        let record = session.record
        // Frames appended meanwhile belong to the same block, or to a later one.
        if chance(50), let stream = session.streams.first, stream.state.open != nil { step(stream) }
        try commit()
        try session.directory.write(record, calls: .unsynced)
    }

    /// Makes a session's files durable, and removes the parts of the log that no session needs.
    func checkpoint(_ session: Session) throws {
        try commit()
        let places = session.streams.map(\.place)
        let position = appender.position
        for stream in session.streams {
            // Batches that still wait are written again.
            let held = stream.state.held
            stream.state.held = []
            for batch in held where chance(50) { stream.hold(String(decoding: batch.body, as: UTF8.self)) }
        }
        if chance(50) { try run(number(0...10), only: session) }
        try commit()
        try apply()
        for file in (files[session.record.session] ?? [:]).values {
            try file.write()
            try file.beginSync()?.sync()
            try file.noteSync(nil)
        }
        for (stream, place) in zip(session.streams, places) { stream.durable = place }
        session.written = position
        try store(session)
        _ = try log.remove(before: sessions.map(\.written).min() ?? 0, current: appender.segment)
    }

    func run(_ steps: Int, only session: Session) throws {
        for _ in 0..<steps {
            if let stream = session.streams.randomElement(using: &random), stream.state.open != nil { step(stream) }
        }
    }

    /// The writers of a session's files.
    func streamFiles(of session: Session) -> [StreamFile] { Array((files[session.record.session] ?? [:]).values) }

    // MARK: Crashes

    /// Simulates a kill or a power cut: keeps what is durable, and an arbitrary part of later writes.
    /// - Parameter isPowerCut: whether files may lose what was not made durable.
    func crash(isPowerCut: Bool) throws {
        try tearLog(isPowerCut: isPowerCut)
        if isPowerCut {
            for session in sessions {
                let record = try session.directory.record()
                for log in record.logs { try tear(log, of: session) }
                for stream in session.streams where !record.logs.contains(where: { $0.name == stream.name }) {
                    try tear(stream.description, of: session)
                }
            }
        }
        targets = [:]
        files = [:]
        unapplied = []
        for session in sessions {
            let states = committed[session.record.session] ?? [:]
            // A stream of which nothing was durable does not exist.
            session.streams.removeAll { states[$0.name]?.isDescribed != true }
            for stream in session.streams { stream.state = states[stream.name] ?? stream.state }
        }
    }

    /// Leaves part of the block that was being written.
    private func tearLog(isPowerCut: Bool) throws {
        guard let block = appender.takeBlock(), chance(70) else { return }
        let path = logDirectory.path.appending(WriteAheadLog.name(of: block.segment))
        let old = logDirectory.contains(WriteAheadLog.name(of: block.segment)) ? try bytes(of: path) : []
        var tail = try block.bytes(synced: block.position)
        if isPowerCut, chance(50) {
            // The padding at the block's end is zero anyway: without the padding alone the block is whole.
            let last = tail.lastIndex { $0 != 0 } ?? 0
            for index in number(0...last)..<tail.count { tail[index] = 0 }
        } else {
            tail.removeLast(number(1...tail.count))
        }
        if !logDirectory.exists { try logDirectory.create() }
        try write(old + tail, to: path)
    }

    /// Removes from a file what was not made durable: its end, or some of its pages.
    private func tear(_ log: SessionRecord.Log, of session: Session) throws {
        let name = log.name.fileName(session.record.format)
        guard session.directory.directory.contains(name), chance(70) else { return }
        let path = session.directory.directory.path.appending(name)
        var content = try bytes(of: path)
        // The durable place may be in a file that has its final name by now; then nothing of this file is durable.
        let isPlaced =
            log.durable.map { durable in
                durable.file == finishedCount(of: log.name, in: session)
            } ?? false
        let terminator = session.streams.first?.terminator.count ?? 0
        let durable = isPlaced ? (log.durable?.bytes ?? 0) - terminator : 0
        guard durable < content.count else { return }
        let start = number(durable...(content.count - 1))
        switch number(0...2) {
        case 0: content.removeSubrange(start...)
        case 1: for index in start..<content.count { content[index] = 0 }
        default: for index in start..<min(content.count, start + 64) { content[index] = 0 }
        }
        try write(content, to: path)
        if !isPlaced, chance(20) { try Directory.removeFile(path) }
    }

    private func finishedCount(of log: LogName, in session: Session) -> Int {
        ((try? session.directory.directory.names()) ?? []).count { FinishedName($0, of: log) != nil }
    }

    // MARK: Recovery

    /// Recovers all sessions.
    func recover(_ calls: FileCalls = .unsynced) throws -> SessionRecovery {
        try SessionRecovery(of: directories, log: logDirectory, calls: calls)
    }

    func contents() throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for session in sessions {
            for name in try session.directory.directory.names() {
                contents["\(session.record.session)/\(name)"] = try bytes(
                    of: session.directory.directory.path.appending(name))
            }
        }
        return contents
    }

    /// Compares what was recovered with what was committed.
    func check(_ recovery: SessionRecovery, _ comment: Comment) throws {
        #expect(recovery.damage == nil, comment)
        for session in sessions {
            let recovered = try #require(recovery.outcomes[session.record.session], comment).get()
            // The log does not know a session of which nothing was committed. There is no log if all committed frames were in
            // files and the first block after that is torn.
            #expect(recovered.isFromLog || recovered.record.logs.isEmpty || recovery.log == nil, comment)
            #expect(recovered.record.failures == [], comment)
            #expect(recovered.record.logs.map(\.name) == session.streams.map(\.name), comment)
            var expected: [String: [UInt8]] = [:]
            for stream in session.streams {
                let state = stream.state
                for (name, content) in stream.files(state) { expected[name] = content }
                let log = try #require(recovered.record.logs.first { $0.name == stream.name }, comment)
                let found = try #require(recovered.logs[stream.name], comment)
                #expect(found.positions == state.positions, comment)
                #expect(log.epochs.map(\.epoch) == state.epochs, comment)
                #expect(log.epochs.map(\.next) == state.nexts, comment)
                #expect(log.epochs.map(\.end) == state.ends, comment)
                #expect(log.counts == state.counts, comment)
                #expect(log.gaps == state.gaps, comment)
                #expect(log.firstUptime == state.firstUptime, comment)
                #expect(log.lastUptime == state.lastUptime, comment)
                #expect((log.isMarkedStopped == true) == state.isMarkedStopped, comment)
                #expect(
                    found.file
                        == state.open.map {
                            StreamFile.Extent(
                                index: stream.index, bytes: $0.count + stream.terminator.count, samples: state.samples)
                        }, comment)
                #expect(log.file == (state.open == nil ? nil : stream.fileName), comment)
                #expect(log.files.map(\.name) == state.finished.map(\.name), comment)
                #expect(log.files.map(\.samples) == state.finished.map(\.samples), comment)
                for file in log.files {
                    let measured = try FinishedFile.measure(session.directory.directory.path.appending(file.name))
                    #expect(measured == (file.bytes, file.sha256), comment)
                }
            }
            var files: [String: [UInt8]] = [:]
            for name in try session.directory.directory.names() where name != "session.json" {
                files[name] = try bytes(of: session.directory.directory.path.appending(name))
            }
            #expect(files.keys.sorted() == expected.keys.sorted(), comment)
            for (name, content) in expected where files[name] != content {
                Issue.record("\(comment): \(session.record.session)/\(name) differs")
            }
            let held = Dictionary(grouping: recovered.held, by: \.log).mapValues { $0.map(\.body) }
            let waiting = session.streams.map { ($0.name, $0.state.held.map(\.body)) }.filter { !$0.1.isEmpty }
            #expect(held == Dictionary(uniqueKeysWithValues: waiting), comment)
        }
    }

    /// Resumes the recovered sessions.
    func resume(_ recovery: SessionRecovery) throws {
        #expect(recovery.log ?? appender.log == appender.log)
        // If nothing of the log can be read, a new one begins, and positions start over.
        appender = LogAppender(
            log: recovery.log ?? "\(appender.log)+", position: recovery.logEnd, segmentLength: 6000)
        log = WriteAheadLog(in: logDirectory, synced: recovery.logSynced, calls: .unsynced)
        for session in sessions {
            let recovered = try #require(recovery.outcomes[session.record.session]).get()
            session.record = recovered.record
            let position = recovered.isFromLog ? recovered.record.logPosition : nil
            session.written = position?.written ?? recovery.logEnd
            session.number = appender.number(session.record.session)
            for stream in session.streams {
                stream.move(to: appender)
                let log = try #require(recovered.record.logs.first { $0.name == stream.name })
                stream.listed = log.files
                stream.durable = log.durable
                track(stream, of: session, try #require(recovery.files[session.record.session]?[stream.name]))
                if stream.state.open != nil { stream.mark(.resumed) }
            }
        }
        committed = states
        try commit()
        // Until its checkpoint, the new log does not have a session that was recovered from its files alone.
        for session in sessions where try recovery.outcomes[session.record.session]?.get().isFromLog == false {
            try checkpoint(session)
        }
    }
}
