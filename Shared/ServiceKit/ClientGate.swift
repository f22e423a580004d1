import Logging
package import Messages
import Synchronization
import ZeroMQ

/// Lets clients in that are on the allow-list, says what each may do, and logs and counts the others.
package final class ClientGate: Sendable {
    private let own: CurveKey
    private let clients: AllowedClients
    private let logger: Logger
    private let health: Health
    private let refusals = Mutex(RefusalLog())

    /// Reads the list.
    /// - Parameter own: the program's own key. Who shows it is the program, and may do everything here.
    /// - Throws: `ServiceError` (bad configuration) for a directory with any key that can't be on the list.
    init(own: CurveKey, directory: KeyDirectory, logger: Logger, health: Health) throws(ServiceError) {
        self.own = own
        self.logger = logger
        self.health = health
        clients = try AllowedClients(in: directory) { problems in
            for problem in problems.prefix(10) {
                logger.warning("a key is not on the list", metadata: [LogKey.error: "\(problem)"])
            }
            if problems.isEmpty {
                health.clear("keys")
            } else {
                health.report(.degraded, problems.prefix(10).joined(separator: "; "), for: "keys")
            }
        }
    }

    /// Whether a client is served: asked in the middle of each handshake.
    func admits(_ request: AuthenticationRequest) -> Bool {
        if request.client == own || clients.client(with: request.client) != nil { return true }
        let (count, unmentioned) = refusals.withLock { refusals in
            let unmentioned = refusals.note("\(request.address) \(request.client.text)", at: MonotonicClock.now)
            return (refusals.count, unmentioned)
        }
        health.measure("refusedClients", Double(count))
        guard let unmentioned else { return false }
        var metadata: Logger.Metadata = [
            LogKey.client: "\(request.address.isEmpty ? "ipc" : request.address)",
            LogKey.clientKey: "\(request.client.text)", LogKey.error: "the key is not on the list",
        ]
        if unmentioned > 0 { metadata[LogKey.unmentioned] = "\(unmentioned)" }
        logger.warning("client refused", metadata: metadata)
        return false
    }

    /// What the client with a key may do now; nil for nothing.
    package func role(of key: String) -> Role? {
        guard let key = CurveKey(key) else { return nil }
        return key == own ? .delete : clients.client(with: key)?.role
    }
}
