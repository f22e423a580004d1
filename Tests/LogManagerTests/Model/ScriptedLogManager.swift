import Files
import Messages
import Recording
import ServiceKit
import Testing

@testable import LogManagerCore

/// A log manager with a scripted clock and files of 10 bytes. Effects that the program completes at once are carried out at once;
/// those that take time wait for the test.
final class ScriptedLogManager {
    let catalog = ModelCatalog()
    let core: StreamFiles
    private var time: Int64 = 0
    /// The disk's free space, in bytes.
    var freeBytes = 1_000_000
    private(set) var waiting: [StreamFiles.Effect] = []
    private(set) var events: [LogFileEvent] = []
    /// Sizes in bytes of the sessions that have no stream files left; the retired ones are in `retired`.
    var remains: [SessionIdentifier: Int] = [:]
    var retired: Set<SessionIdentifier> = []
    /// Receives each effect before it is carried out.
    var observe: (StreamFiles.Effect) -> Void = { _ in }

    /// Makes and starts a log manager.
    init(
        files: Int, pieceSize: Int = 2, thresholds: LogsSetThresholds = LogsSetThresholds(),
        whenFull: RetentionPolicy = .nothing, remains: [String] = [], retired: [String] = [], isDryRun: Bool = false
    ) throws {
        core = StreamFiles(
            StreamFiles.Settings(thresholds: thresholds, whenFull: whenFull, rescanInterval: .max), catalog: catalog,
            isDryRun: isDryRun, pieceSize: pieceSize)
        self.remains = try Dictionary(uniqueKeysWithValues: remains.map { (try SessionIdentifier($0), 100) })
        self.retired = try Set(retired.map { try SessionIdentifier($0) })
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
                case .look, .remove, .retireRemains, .eraseRemains, .listSessions, .compare: waiting.append(effect)
                default: break
                }
            }
        }
    }

    /// Carries out all waiting effects.
    func carryOutAll() { while !waiting.isEmpty { carryOutNext() } }

    /// Carries out the effect that has waited longest.
    /// - Parameter failure: the error of a removal's step or of erasing a retired session; nil for success.
    /// - Returns: the removal's step.
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
            let list = StreamFiles.SessionList(
                sessions: catalog.sessions + remains.keys.sorted(), hasRecordings: true, retired: retired.sorted())
            core.listed(.success(list), at: now)
        case .compare(let session, _):
            var changes = CatalogChanges()
            changes.remains = remains[session].map { SessionRemains(bytes: $0, files: 0) }
            core.compared(.success(changes), warning: nil, at: now)
        case .retireRemains(let sessions, _):
            let outcomes = sessions.map { session in
                let outcome = remains.removeValue(forKey: session).map { RemainsOutcome.retired(bytes: $0) }
                if outcome != nil { retired.insert(session) }
                return (session, outcome ?? .gone)
            }
            core.retiredRemains(outcomes, at: now)
        case .eraseRemains(let sessions):
            if failure == nil { retired.subtract(sessions) }
            core.erasedRemains(sessions.map { ($0, failure?.reason) }, at: now)
        default: break
        }
        perform()
        return done
    }
}
