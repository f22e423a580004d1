import Logging
package import Messages
import Synchronization
import ZeroMQ

/// Admits clients on the allow-list and knows each one's role; logs and counts those refused for their key or role.
package final class ClientGate: Sendable {
    private let own: CurveKey
    private let clients: AllowedClients
    private let logger: Logger
    private let health: Health
    private let refusals = Mutex(RefusalLog())

    /// Reads the list.
    /// - Parameter own: the program's own key. A client that presents it is the program itself, and may do everything.
    /// - Throws: `ServiceError` (bad configuration) if any key in the directory can't be on the list.
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
        // The alert compares counts, so it would miss refusals before the first count.
        health.measure(.refusedClients, 0)
    }

    /// Whether a client is served. Called in the middle of each handshake.
    func admits(_ request: AuthenticationRequest) -> Bool {
        if request.client == own || clients.client(with: request.client) != nil { return true }
        note(
            "client refused", kind: "\(request.address) \(request.client.text)",
            [
                LogKey.client: "\(request.address.isEmpty ? "ipc" : request.address)",
                LogKey.clientKey: "\(request.client.text)", LogKey.error: "the key is not on the list",
            ])
        return false
    }

    /// Records a request that the client's role does not allow.
    func noteRefusal(of key: String, _ error: RequestError) {
        var metadata: Logger.Metadata = [LogKey.clientKey: "\(key)", LogKey.error: "\(error)"]
        if let name = CurveKey(key).flatMap({ clients.client(with: $0)?.name }) {
            metadata[LogKey.clientName] = "\(name)"
        }
        note("request refused", kind: "\(key) \(error)", metadata)
    }

    private func note(_ message: Logger.Message, kind: String, _ metadata: Logger.Metadata) {
        let (count, unmentioned) = refusals.withLock { refusals in
            let unmentioned = refusals.note(kind, at: MonotonicClock.now)
            return (refusals.count, unmentioned)
        }
        health.measure(.refusedClients, count)
        guard let unmentioned else { return }
        var metadata = metadata
        if unmentioned > 0 { metadata[LogKey.unmentioned] = "\(unmentioned)" }
        logger.warning(message, metadata: metadata)
    }

    /// The current role of the client with a key; nil if it may do nothing.
    package func role(of key: String) -> Role? {
        guard let key = CurveKey(key) else { return nil }
        return key == own ? .delete : clients.client(with: key)?.role
    }
}
