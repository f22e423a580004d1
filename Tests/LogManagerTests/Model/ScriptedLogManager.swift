import Files
import Messages
import Recording
import ServiceKit
import Testing

@testable import LogManagerCore

/// A log-manager whose time is given, with files of 10 bytes. It carries out at once what the program does at once; what
/// takes time waits for the test.
final class ScriptedLogManager {
    let catalog = ModelCatalog()
    let core: StreamFiles
    private var time: Int64 = 0
    /// Bytes that the disk has free.
    var freeBytes = 1_000_000
    private(set) var waiting: [StreamFiles.Effect] = []
    private(set) var events: [LogFileEvent] = []
    /// Gets each effect before it is carried out.
    var observe: (StreamFiles.Effect) -> Void = { _ in }

    /// A log-manager that has been started.
    init(
        files: Int, pieceSize: Int = 2, thresholds: LogsSetThresholds = LogsSetThresholds(),
        whenFull: RetentionPolicy = .nothing
    ) throws {
        core = StreamFiles(
            StreamFiles.Settings(thresholds: thresholds, whenFull: whenFull, rescanInterval: .max), catalog: catalog,
            pieceSize: pieceSize)
        let session = try SessionIdentifier("s")
        for number in 0..<files {
            let name = FinishedName(log: LogName("phone_gyro"), stamp: "20261120235301", count: number, format: .json)
            let file = ScannedFile(
                session: session, name: name,
                identity: FileIdentity(device: 1, inode: UInt64(number), bytes: 10, modified: 0),
                finished: WallTime(nanosecondsSince1970: Int64(number)), sha256: nil, isFinished: true)
            _ = try catalog.apply(.add(file))
        }
        core.start(at: now)
        perform()
        carryOutAll()
    }

    var now: Moment { Moment(monotonic: time, date: WallTime(nanosecondsSince1970: time)) }

    var paths: [String] { catalog.listed.map(\.path) }

    func published(_ change: LogFileEvent.Change) -> [String] {
        events.filter { $0.change == change }.compactMap(\.path)
    }

    func wait(seconds: Int64) {
        time += seconds * 1_000_000_000
        core.tick(at: now)
        perform()
    }

    func perform() {
        while true {
            let effects = core.takeEffects()
            if effects.isEmpty { return }
            for effect in effects {
                observe(effect)
                switch effect {
                case .change(let number, let change):
                    core.changed(number, Result { () throws(RecordingError) in try catalog.apply(change) }, at: now)
                case .lookAtDisk: core.take(freeBytes: freeBytes, at: now)
                case .notice(.publish(let event)): if let event = event as? LogFileEvent { events.append(event) }
                case .look, .remove, .listSessions, .compare: waiting.append(effect)
                default: break
                }
            }
        }
    }

    /// Carries out all that waits.
    func carryOutAll() { while !waiting.isEmpty { carryOutNext() } }

    /// Carries out the effect that waits longest.
    /// - Parameter failure: why a step of a removal is not done.
    /// - Returns: the step.
    @discardableResult
    func carryOutNext(failing failure: RemovalFailure? = nil) -> RemovalStep? {
        var done: RemovalStep?
        switch waiting.removeFirst() {
        case .look(let number, let paths):
            let found = paths.map { path in
                PathLook(
                    path: path,
                    outcome: catalog.file(at: path).map { .found($0.identity) } ?? .refused("it is not there"))
            }
            core.looked(number, found, at: now)
        case .remove(let step, let files):
            done = step
            var failures: [Int64: RemovalFailure] = [:]
            for file in files { failures[file.id] = failure }
            core.stepped(failures, at: now)
        case .listSessions:
            core.listed(
                .success(StreamFiles.SessionList(sessions: catalog.sessions, hasRecordings: true)), at: now)
        case .compare: core.compared(.success(CatalogChanges()), warning: nil, at: now)
        default: break
        }
        perform()
        return done
    }
}
