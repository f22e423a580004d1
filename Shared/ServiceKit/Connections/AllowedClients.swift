import Messages
import Synchronization
package import ZeroMQ

/// The current allow-list of the directory of keys, read again if the directory has changed.
package final class AllowedClients: Sendable {
    private struct State {
        var list: AllowList
        /// The directory's fingerprint when the list was read; nil if a change could have been missed.
        var fingerprint: [KeyFileState]?
        /// The problems that were reported last.
        var reported: [String] = []
        /// When the directory was last checked, on `MonotonicClock`.
        var looked: Int64
    }

    /// The minimum time between two checks of the directory, in nanoseconds: a flood of handshakes or requests must not become
    /// a flood of file accesses.
    private static let interval: Int64 = 100_000_000
    /// A file that changed less than this long ago, in nanoseconds, may change again without a new file time.
    private static let unsettled: Int64 = 100_000_000

    private let directory: KeyDirectory
    private let state: Mutex<State>
    private let report: @Sendable (_ problems: [String]) -> Void

    /// Reads the list.
    /// - Parameter report: receives the problems of keys that were added later; an empty list once they are fixed.
    /// - Throws: `ServiceError` (bad configuration) if any key in the directory can't be on the list.
    package init(in directory: KeyDirectory, report: @escaping @Sendable (_ problems: [String]) -> Void)
        throws(ServiceError)
    {
        let fingerprint = Self.settled(directory.fingerprint())
        let list = try directory.allowList()
        if let problem = list.problems.first { throw ServiceError(.badConfiguration, problem) }
        self.directory = directory
        self.report = report
        state = Mutex(State(list: list, fingerprint: fingerprint, looked: MonotonicClock.now))
    }

    /// The client with a key, if the key is on the list.
    package func client(with key: CurveKey) -> AllowList.Client? {
        lookAgain()
        return state.withLock { $0.list[key] }
    }

    private func lookAgain() {
        let now = MonotonicClock.now
        let known: [KeyFileState]?? = state.withLock { state in
            guard now - state.looked >= Self.interval else { return nil }
            state.looked = now
            return .some(state.fingerprint)
        }
        guard let known else { return }
        let fingerprint = directory.fingerprint()
        if let known, known == fingerprint { return }
        var list = AllowList()
        do {
            list = try directory.allowList()
        } catch {
            // While the directory is unreadable, clients stay on the list and no new one is admitted; but a removed directory
            // allows nobody.
            guard directory.isGone else { return tell([error.message]) }
            list.note("\(directory.path): the directory of keys is gone, so no client is allowed")
        }
        state.withLock { state in
            state.list = list
            state.fingerprint = Self.settled(fingerprint)
        }
        tell(list.problems)
    }

    /// Reports problems that are not reported yet.
    private func tell(_ problems: [String]) {
        let isNew = state.withLock { state in
            defer { state.reported = problems }
            return state.reported != problems
        }
        if isNew { report(problems) }
    }

    private static func settled(_ fingerprint: [KeyFileState]?) -> [KeyFileState]? {
        let now = WallTime.now.nanosecondsSince1970
        return fingerprint?.contains { now - $0.changed < unsettled } == true ? nil : fingerprint
    }
}
