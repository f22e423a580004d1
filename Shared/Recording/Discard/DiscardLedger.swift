package import Files
import Messages
import Synchronization
package import SystemPackage

/// The sessions that were discarded, read from `recordings/discarded.ndjson`. After the first time, only added lines are read.
package final class DiscardLedger: Sendable {
    private struct State {
        var lines: [DiscardedSession] = []
        var named: [PersonalName: [DiscardedSession]] = [:]
        /// Bytes of the file that were read, in whole lines.
        var length = 0
    }

    private let path: FilePath
    private let state = Mutex(State())

    package init(in data: FilePath) {
        path = SessionDirectory.recordings(in: data).path.appending(DiscardedSession.fileName)
    }

    /// The discarded sessions in order, without the first `count`.
    package func lines(after count: Int) throws(RecordingError) -> [DiscardedSession] {
        try refreshed { Array($0.lines.dropFirst(count)) }
    }

    /// The last discarded session of a name; nil if there is none.
    package func newest(of name: PersonalName) throws(RecordingError) -> DiscardedSession? {
        try lines(of: name).last
    }

    /// All discarded sessions of a name, in order.
    package func lines(of name: PersonalName) throws(RecordingError) -> [DiscardedSession] {
        try refreshed { $0.named[name] ?? [] }
    }

    package var isEmpty: Bool { (try? refreshed { $0.lines.isEmpty }) ?? true }

    private func refreshed<Value: Sendable>(_ body: (State) -> Value) throws(RecordingError) -> Value {
        let path = path
        return try state.withLock { state throws(RecordingError) in
            try Self.refresh(&state, from: path)
            return body(state)
        }
    }

    private static func refresh(_ state: inout State, from path: FilePath) throws(RecordingError) {
        let size = Int((try? path.stat(followTargetSymlink: false).size) ?? 0)
        if size == state.length { return }
        // The file was replaced.
        if size < state.length { state = State() }
        if size == 0 { return }
        let bytes = try OpenFile(path, .readOnly, action: "read").bytes(in: state.length..<size)
        guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return }
        for line in bytes[..<end].split(separator: UInt8(ascii: "\n")) {
            guard let session = try? WireCoding.decode(DiscardedSession.self, from: line) else { continue }
            state.lines.append(session)
            state.named[session.session, default: []].append(session)
        }
        state.length += end + 1 - bytes.startIndex
    }
}
