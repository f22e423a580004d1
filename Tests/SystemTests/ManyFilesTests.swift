import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// log-manager removes many files, and still answers all clients meanwhile.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ManyFilesTests {
    /// A tenth of the benchmark `removal`.
    private static let files = 10_000
    /// The share of the removal's time that an answer may take: a removal in one piece would block every client for all of it, on
    /// any machine. On an idle machine it is a twentieth.
    private static let bound = 0.4

    /// Sends a request repeatedly until the task is cancelled.
    /// - Returns: the number of answers, and the longest time that one took.
    private static func ask(
        _ request: some Request, through client: RequestClient
    ) async throws -> (count: Int, longest: Duration) {
        var count = 0
        var longest = Duration.zero
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                _ = try await client.send(request, timeout: .seconds(60))
            } catch is CancellationError {
                break
            }
            longest = max(longest, .now - start)
            count += 1
        }
        return (count, longest)
    }

    /// Removes all files. If one request times out, as on a busy machine, it is repeated.
    private static func removeAll(through keeper: LogKeeper) async throws {
        while true {
            do {
                #expect(try await keeper.send(LogsRemoveOldAndUploaded(bytes: 0)).totalBytes == 0)
                return
            } catch let error as RequestError where error.data?.reason == RequestError.Reason.timedOut.word {
                #expect(try await keeper.send(LogsUsage()).totalBytes < 3 * files)
            }
        }
    }

    @Test func removingManyFilesKeepsNobodyWaiting() async throws {
        try await withTemporaryDirectory { data in
            var newest = ""
            for session in ["a", "b"] {
                newest = try LogKeeper.finish(session, files: Self.files / 2, in: data).last ?? ""
            }
            let marked = newest
            try await LogKeeper.run(in: data) { keeper in
                #expect(try await keeper.send(LogsUsage()).totalBytes == 3 * Self.files)
                let start = ContinuousClock.now
                try await withThrowingTaskGroup(of: (String, Int, Duration)?.self) { tasks in
                    var removal = Duration.zero
                    func add(_ request: some Request & Sendable) throws {
                        let client = try keeper.another()
                        tasks.addTask {
                            let (count, longest) = try await Self.ask(request, through: client)
                            return (type(of: request).method, count, longest)
                        }
                    }
                    try add(LogsUsage())
                    try add(ServiceHealth())
                    try add(LogsNeedingUpload(limit: 100))
                    try add(LogsMarkUploaded(paths: [marked]))
                    tasks.addTask {
                        try await Self.removeAll(through: keeper)
                        return nil
                    }
                    for try await result in tasks {
                        guard let (method, count, longest) = result else {
                            removal = .now - start
                            tasks.cancelAll()
                            continue
                        }
                        #expect(count > 3, "\(method) was hardly answered")
                        #expect(longest < removal * Self.bound, "\(method): \(longest) of \(removal)")
                    }
                }
                #expect(try await keeper.send(LogsUsage()).totalBytes == 0)
                #expect(try await keeper.terminate() == .exited(0))
            }
        }
    }
}
