import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// How the archiver asks log-manager to mark and remove log files.
///
/// One that is away is not asked again for a while, so that a thousand sessions don't wait for it one after the other.
actor LogKeeper {
    /// How long an answer may take: marks of a batch wait for the disk a few times.
    private static let markLimit = Duration.seconds(10)
    /// The same where files are removed.
    private static let removalLimit = Duration.seconds(30)
    /// How long it is left alone when it is away.
    static let pause = Duration.seconds(10)
    /// Files in one request, so that none is longer than is read: `RequestRouter.maximumRequestSize`.
    private static let batchSize = 1_000

    nonisolated let endpoint: String
    private let client: RequestClient
    private var awayUntil = Int64.min

    init(on host: ServiceHost, endpoint: Endpoint) throws {
        self.endpoint = endpoint.description
        client = try host.peers.client(of: .logManager, at: endpoint)
    }

    /// Marks files as uploaded.
    /// - Returns: those that were refused.
    func mark(_ paths: [String], receipt: JSONValue) async throws -> [LogFileOutcome.Refusal] {
        try await refusals(paths) { paths in
            try await self.client.send(LogsMarkUploaded(paths: paths, receipt: receipt), timeout: Self.markLimit)
        }
    }

    /// Removes files that are marked.
    /// - Returns: those that were refused.
    func remove(_ paths: [String]) async throws -> [LogFileOutcome.Refusal] {
        try await refusals(paths) { paths in
            try await self.client.send(LogsRemoveUploaded(paths: paths), timeout: Self.removalLimit)
        }
    }

    private func refusals(
        _ paths: [String], _ ask: ([String]) async throws -> LogFileOutcome
    ) async throws -> [LogFileOutcome.Refusal] {
        var refused: [LogFileOutcome.Refusal] = []
        for batch in paths.batches(of: Self.batchSize) {
            guard MonotonicClock.now >= awayUntil else { throw away }
            do {
                refused += try await ask(Array(batch)).refused
            } catch let error as ZeroMQError where error.code == .timedOut {
                awayUntil = MonotonicClock.now + Int64(Self.pause / .nanoseconds(1))
                throw away
            } catch let error as RequestError {
                throw ArchiveFailure(
                    code: error.data?.reason ?? "refused", reason: "log-manager at \(endpoint) refused: \(error)",
                    retry: .backingOff, isRefusal: true)
            }
        }
        return refused
    }

    private var away: ArchiveFailure {
        ArchiveFailure(
            code: ArchiveFailure.logManagerAway,
            reason: "log-manager at \(endpoint) does not answer: what the receiver has is marked when it is back",
            retry: .after(Self.pause), isRefusal: true)
    }
}

extension ArchiveFailure {
    /// The code where log-manager does not answer.
    static let logManagerAway = "logManagerAway"
}
