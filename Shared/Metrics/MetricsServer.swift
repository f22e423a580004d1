import SystemPackage
import ZeroMQ

/// Serves `GET /metrics` over HTTP, on a thread of its own.
///
/// Plain HTTP: whoever reaches the port can read it. Nothing that a peer does there takes more than a few connections
/// and their memory, or keeps the program from its work.
package actor MetricsServer {
    /// The pause after a turn with nobody connected, in nanoseconds: whoever could not be taken, because the process has
    /// no more files, is there still, and must not keep the thread busy.
    private static let pause: Int64 = 10_000_000

    private let thread: SocketThread
    private let daemon: HTTPDaemon
    /// The port that it listens on.
    package nonisolated let port: UInt16

    /// The thread that serves.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Listens.
    /// - Parameters:
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for any that is free.
    ///   - connectionLife: how long a connection may be there; by default what Prometheus allows for a scrape.
    /// - Throws: `Errno` if it can't be listened on, `ZeroMQError` if there is no thread for it.
    package init(host: String, port: UInt16, connectionLife: Duration = .seconds(10)) throws {
        let listener = try HTTPListener(host: host, port: port)
        self.port = listener.port
        thread = try SocketThread(name: "metrics")
        daemon = try HTTPDaemon(listener, connectionLife: connectionLife.inNanoseconds)
    }

    /// Serves until the task is cancelled.
    /// - Parameter page: asked for each time that somebody wants it; those who ask meanwhile get the next one.
    package func run(_ page: @Sendable () async -> MetricsPage) async throws {
        while true {
            let deadline = daemon.deadline(at: MonotonicClock.now)
            _ = try await thread.readable(descriptor: daemon.descriptor, deadline: deadline)
            daemon.turn(at: MonotonicClock.now)
            if daemon.isWantingPage { daemon.answer(await page().text) }
            if daemon.isIdle { try await thread.sleep(until: MonotonicClock.now + Self.pause) }
        }
    }
}
