import NATS
import RelayCore
import Runtime
import ZeroMQ

/// Asks the leader of a NATS stream for the last messages of several streams at the same time: each request waits for distant
/// servers.
///
/// The leader is asked because a replica that was unavailable may lack messages that this program or its previous run already
/// published.
struct LastMessages: Sendable {
    typealias Found = (description: NATSMessage?, samples: NATSMessage?)

    /// The maximum number of streams to ask for at the same time.
    static let maximumAtOnce = 16

    private let connection: NATSConnection
    private let stream: String
    private let threads: [OwnThread<Void>]

    init(_ connection: NATSConnection, stream: String) throws(ZeroMQError) {
        self.connection = connection
        self.stream = stream
        var threads: [OwnThread<Void>] = []
        for index in 0..<Self.maximumAtOnce { threads.append(try OwnThread(name: "streams \(index)", ())) }
        self.threads = threads
    }

    /// - Parameter subjects: at most `maximumAtOnce`.
    /// - Returns: each subject with its last description and its last samples, in the same order.
    func find(_ subjects: ArraySlice<RelaySubject>) async throws(NATSError) -> [(subject: RelaySubject, last: Found)] {
        let results = await withTaskGroup(of: (RelaySubject, Result<Found, NATSError>).self) { group in
            for (subject, thread) in zip(subjects, threads) {
                group.addTask { (subject, await find(subject, on: thread)) }
            }
            return await group.reduce(into: [RelaySubject: Result<Found, NATSError>]()) { $0[$1.0] = $1.1 }
        }
        var all: [(subject: RelaySubject, last: Found)] = []
        for subject in subjects {
            if let last = try results[subject]?.get() { all.append((subject, last)) }
        }
        return all
    }

    private func find(_ subject: RelaySubject, on thread: OwnThread<Void>) async -> Result<Found, NATSError> {
        do throws(NATSError) {
            let found = try await thread.run { _ throws(NATSError) -> Found in
                (
                    description: try connection.lastMessage(
                        of: subject.descriptions, in: stream, headers: RelayedMessage.Header.all),
                    samples: try connection.lastMessage(
                        of: subject.samples, in: stream, headers: RelayedMessage.Header.all)
                )
            }
            return .success(found)
        } catch {
            return .failure(error)
        }
    }
}
