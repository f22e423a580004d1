import Messages
import Synchronization
package import ZeroMQ

/// The allow-list as the directory of keys has it now: read again when something in there has changed.
package final class AllowedClients: Sendable {
    private struct State {
        var list: AllowList
        /// That of the directory when the list was read; nil if a change could have been missed.
        var fingerprint: [KeyFileState]?
        /// What was reported last.
        var reported: [String] = []
        /// When the directory was looked at last, on `MonotonicClock`.
        var looked: Int64
    }

    /// How long a look at the directory counts: a flood of handshakes or requests must not become one of file accesses.
    private static let interval: Int64 = 100_000_000
    /// What changed less than this long ago may change again within the resolution of file times, in nanoseconds.
    private static let unsettled: Int64 = 100_000_000

    private let directory: KeyDirectory
    private let state: Mutex<State>
    private let report: @Sendable (_ problems: [String]) -> Void

    /// Reads the list.
    /// - Parameter report: told what is wrong with keys that came into the directory later; with nothing once it is mended.
    /// - Throws: `ServiceError` (bad configuration) for a directory with any key that can't be on the list.
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

    /// Who has a key, if it is on the list.
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
            // Whoever is on the list stays until it can be read again, and nobody new comes; but who removes it means it.
            guard directory.isGone else { return tell([error.message]) }
            list.note("\(directory.path): the directory of keys is gone, so no client is allowed")
        }
        state.withLock { state in
            state.list = list
            state.fingerprint = Self.settled(fingerprint)
        }
        tell(list.problems)
    }

    /// Reports what is not reported yet.
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
