import Synchronization
import SystemPackage
import TestSupport

/// A program that is started, killed and restarted. `run` keeps it running; the other methods may be called meanwhile.
final class Victim: Sendable {
    /// The value of `--log-format` for JSON logs.
    static let objects = "json"

    private struct Start: Sendable {
        let arguments: [String]
        let environment: [String: String]
        let started: AsyncThrowingStream<ProgramUnderTest, any Error>.Continuation
    }

    private let executable: FilePath
    private let orders: AsyncStream<Start>
    private let ordering: AsyncStream<Start>.Continuation
    private let written = Mutex(WrittenLog())

    init(_ executable: FilePath) {
        self.executable = executable
        // One program runs at a time, and each start is awaited.
        (orders, ordering) = AsyncStream.makeStream(of: Start.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The program's log, if it was to write JSON objects.
    var log: WrittenLog { written.withLock(\.self) }

    /// Carries out starts until the task is cancelled, which also ends the program.
    func run() async {
        for await order in orders {
            do {
                try await ProgramUnderTest.run(
                    executable: executable, arguments: order.arguments, environment: order.environment
                ) { program in
                    order.started.yield(program)
                    order.started.finish()
                    _ = try await program.end(within: .seconds(86_400))
                    guard order.arguments.contains(Self.objects) else { return }
                    written.withLock { $0.take(program.standardError, of: executable.lastComponent?.string ?? "") }
                }
            } catch {
                order.started.finish(throwing: error)
            }
        }
    }

    /// Starts the program once its predecessor has ended, without waiting until it is ready.
    func start(_ arguments: [String], environment: [String: String] = [:]) async throws -> ProgramUnderTest {
        let (started, continuation) = AsyncThrowingStream.makeStream(of: ProgramUnderTest.self)
        ordering.yield(Start(arguments: arguments, environment: environment, started: continuation))
        for try await program in started { return program }
        throw CancellationError()
    }
}
