import NATS
import Runtime
import ServiceKit
import Synchronization
import ZeroMQ

/// A connection to NATS that collects the reports of the library's threads until the engine takes them.
///
/// An engine checks the connection here, never in the library: while connecting, the library holds its lock for seconds for each
/// unresponsive server.
///
/// Bounded: the core limits the messages under way, and so the acknowledgements.
final class ServerLink: Sendable {
    private let waiting = Mutex<[NATSConnection.PublishResult]>([])
    /// nil before the library's first report.
    private let connected = Mutex<Bool?>(nil)
    /// Signals that something can be taken.
    private let news = Wake<Void>()
    /// Signals that the library has stopped reconnecting.
    private let loss = Wake<Void>()

    /// - Parameter thread: a thread that may block while the servers reply.
    /// - Throws: `ServiceError` if NATS cannot use the settings.
    func connect<Content>(
        _ settings: NATSSettings, on thread: OwnThread<Content>
    ) async throws(ServiceError) -> NATSConnection {
        do throws(NATSError) {
            let connection = try await thread.run { [self] _ throws(NATSError) in
                let connection = try NATSConnection(
                    settings,
                    connected: { [self] isConnected in
                        connected.withLock { $0 = isConnected }
                        news.tell(())
                    },
                    gaveUp: { [self] in
                        connected.withLock { $0 = false }
                        news.tell(())
                        loss.tell(())
                    },
                    acknowledged: { [self] result in
                        waiting.withLock { $0.append(result) }
                        news.tell(())
                    })
                let isConnected = connection.isConnected
                connected.withLock { $0 = $0 ?? isConnected }
                return connection
            }
            news.tell(())
            return connection
        } catch {
            throw ServiceError(.badConfiguration, "\(error)")
        }
    }

    var isConnected: Bool { connected.withLock { $0 ?? false } }

    /// Calls a closure whenever something can be taken, until the task is cancelled.
    /// - Parameter thread: the thread of the waiting actor.
    func forEachNews(on thread: SocketThread, _ take: () async -> Void) async throws {
        while await news.next(on: thread) != nil { await take() }
        throw CancellationError()
    }

    /// Calls a closure whenever the library gave up the connection, until the task is cancelled.
    /// - Parameter thread: the thread of the waiting actor.
    func forEachLoss(on thread: SocketThread, _ connect: () async throws -> Void) async throws {
        while await loss.next(on: thread) != nil { try await connect() }
        throw CancellationError()
    }

    /// The results of messages since the last call.
    func take() -> [NATSConnection.PublishResult] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
