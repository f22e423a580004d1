import NATS
import Runtime
import ServiceKit
import Synchronization
import ZeroMQ

/// A connection to NATS, and what its library says of it on threads of its own: it waits here until the engine takes it.
///
/// An engine asks here whether there is a connection, and never the library: that keeps its lock as long as it tries to connect, which
/// is seconds for each server that does not answer.
///
/// Bounded: acknowledgements by the messages under way, which the core bounds.
final class ServerLink: Sendable {
    private let waiting = Mutex<[NATSConnection.PublishResult]>([])
    /// nil until the library has said it.
    private let connected = Mutex<Bool?>(nil)
    /// Is told that there is something to take.
    private let news = Wake<Void>()
    /// Is told that the library will not connect any more.
    private let loss = Wake<Void>()

    /// Connects.
    /// - Parameter thread: where that may wait for servers.
    /// - Throws: `ServiceError` for settings that NATS can't use.
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

    /// Calls a closure whenever there is something to take, until the task is cancelled.
    /// - Parameter thread: that of the actor that waits.
    func forEachNews(on thread: SocketThread, _ take: () async -> Void) async throws {
        while await news.next(on: thread) != nil { await take() }
        throw CancellationError()
    }

    /// Calls a closure whenever the library gave the connection up, until the task is cancelled.
    /// - Parameter thread: that of the actor that waits.
    func forEachLoss(on thread: SocketThread, _ connect: () async throws -> Void) async throws {
        while await loss.next(on: thread) != nil { try await connect() }
        throw CancellationError()
    }

    /// What became of messages since the last time.
    func take() -> [NATSConnection.PublishResult] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
