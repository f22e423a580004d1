import Files
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import Testing

/// The recorder's own decisions, write-ahead log and stream files, in virtual time. Its effects are carried out at once; the
/// publisher is part of the test's world.
final class WatchedRecorder {
    private let data: FilePath
    private let core = Recordings(
        Recordings.Settings(
            syncInterval: 100_000_000, recoveryLimit: 10_000_000_000, holdLimit: 1 << 20, minimumFree: 0, shard: nil),
        log: "log", position: 0, segmentLength: 64 << 20, checkpointScale: 1)
    private let calls: FileCalls
    private let log: WriteAheadLog
    private let logDirectory: Directory
    private let files: SessionFiles
    private(set) var reports: [String: SessionReport] = [:]
    /// The callbacks that wait for the end of a session.
    private var waiting: [String: (SessionReport) -> Void] = [:]
    /// Starts a replay of a stream's missing samples.
    var recover: (SessionIdentifier, StreamName) -> Void = { _, _ in }
    /// The publisher's description of its stream.
    var describe: () -> [StreamDescription] = { [] }

    init(in data: FilePath) throws {
        self.data = data
        // Syncs are left out: an hour's syncs would take long, and nothing is killed here.
        var calls = FileCalls()
        calls.sync = { _ in }
        calls.syncAll = { _ in }
        self.calls = calls
        logDirectory = WriteAheadLog.directory(in: data, shard: nil)
        try SessionDirectory.recordings(in: data).create()
        log = WriteAheadLog(in: logDirectory, synced: 0, calls: calls)
        files = SessionFiles(in: data, calls: calls)
    }

    var nextDeadline: Int64 { core.nextDeadline }

    func directory(of session: String) throws -> SessionDirectory {
        try SessionDirectory.open(SessionIdentifier(session), in: data)
    }

    // MARK: Requests

    func start(_ name: String, from: WallTime, until: WallTime, at now: Moment) throws {
        let date = now.date.nanosecondsSince1970
        let before = max(0, date - from.nanosecondsSince1970)
        var record = SessionRecord(
            session: try SessionIdentifier(name), task: "", step: "", streams: [StreamName.everything], format: .json,
            root: .array, status: .starting, startDate: WallTime(nanosecondsSince1970: date - before),
            limits: SessionRecord.Limits(
                duration: Double(until.nanosecondsSince1970 - date) / 1e9,
                before: before > 0 ? Double(before) / 1e9 : nil))
        record.logPosition = core.logPosition
        let session = try core.add(record, in: SessionDirectory.create(record, in: data), at: now)
        core.open(describe(), of: session, at: now)
        #expect(core.begin(session))
        core.commitNow(at: now)
        perform(at: now)
    }

    /// - Returns: false if the session does not run.
    func extend(_ name: String, until: WallTime, at now: Moment) throws -> Bool {
        guard let session = core.sessions[try SessionIdentifier(name)], session.status == .running else { return false }
        _ = session.extend(until: until, at: now)
        core.commitNow(at: now)
        perform(at: now)
        return true
    }

    /// - Parameter done: receives the report once the session is over, even if it was over before.
    func stop(_ name: String, at now: Moment, _ done: @escaping (SessionReport) -> Void) throws {
        if let report = reports[name] { return done(report) }
        waiting[name] = done
        core.stop(try SessionIdentifier(name), at: now)
        perform(at: now)
    }

    // MARK: Arriving messages

    func take(_ description: StreamDescription, at now: Moment) {
        core.take(description, at: now)
        perform(at: now)
    }

    func take(_ batch: ReceivedBatch, of stream: StreamName, published: WallTime, at now: Moment) {
        let topic = Array((TopicArea.samples + stream.description).utf8)
        guard let route = topic.withUnsafeBytes({ core.route(of: $0) }) else { return }
        core.take(batch, route, published: published, at: now)
        core.endBatches(at: now)
        perform(at: now)
    }

    func missing(_ stream: StreamName, in session: SessionIdentifier, at now: Moment) -> MissingSamples? {
        defer { perform(at: now) }
        return core.missing(stream, in: session, at: now)
    }

    /// - Returns: false if no samples are missing any more.
    func take(
        _ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, in session: SessionIdentifier,
        at now: Moment
    ) -> Bool {
        defer { perform(at: now) }
        return core.take(frames, count: count, for: request, in: session, at: now)
    }

    func wake(at now: Moment) {
        core.wake(at: now)
        perform(at: now)
    }

    // MARK: Effects

    private func perform(at now: Moment) {
        while case let effects = core.takeEffects(), !effects.isEmpty {
            for effect in effects { perform(effect, at: now) }
        }
    }

    private func perform(_ effect: Recordings.Effect, at now: Moment) {
        switch effect {
        case .append(let block):
            core.appended(failure { () throws(RecordingError) in try log.append(block) }, at: now)
        case .removeLog(let position, let current):
            var left: Int?
            _ = failure { () throws(RecordingError) in left = try log.remove(before: position, current: current) }
            core.removedLog(left)
        case .write(let block): core.wrote(files.apply(block, at: now.monotonic), at: now)
        case .writeDue: core.wrote(files.writeDue(at: now.monotonic), at: now)
        case .forget(let session): files.forget(session)
        case .rebuild(let directory, let failures):
            core.rebuilt(
                directory.session, files.finish(directory, log: logDirectory, failures: failures), at: now)
        case .sync(let session):
            let sync = files.beginSync(of: session) { files in files.map { _ in { nil } } }
            core.synced(session, files.endSync(sync, of: session), at: now)
        case .store(let record, let directory):
            core.stored(
                failure { () throws(RecordingError) in try directory.write(record, calls: calls) }, at: now)
        case .conclude(let record, let report, let directory):
            let failed = failure { () throws(RecordingError) in
                try directory.write(report, calls: calls)
                try directory.write(record, calls: calls)
                try directory.writeChecksums(known: record.logs.flatMap(\.files), calls: calls)
            }
            core.concluded(record, failed, at: now)
        case .removeJournal(let directory): directory.removeJournal()
        case .recover(let session, let stream): recover(session, stream)
        case .list(let session, _, _, _): core.listed(session, describe(), at: now)
        case .compareClocks(let session, _, let isLast): core.compared(session, [], isLast: isLast, at: now)
        case .configure: core.configured(LogConfigurations.Answers(isAway: true), at: now)
        case .ended(let report, _):
            reports[report.session] = report
            waiting.removeValue(forKey: report.session)?(report)
        case .notice(.malformed(let error)): Issue.record("a message can't be read: \(error)")
        case .removeFiles, .dispose, .unsubscribe, .release, .restoreReserves, .lookAtDisk, .notice: break
        }
    }

    private func failure(_ body: () throws(RecordingError) -> Void) -> RecordingError? {
        let failure = RecordingError.thrown(by: body)
        if let failure { Issue.record("\(failure)") }
        return failure
    }
}
