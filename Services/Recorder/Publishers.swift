import MessageBus
import Messages
import ZeroMQ

/// How a recorder asks its publishers. Each task that asks has a socket of its own, so that a publisher which does not
/// answer keeps nobody waiting but those who ask it.
struct Publishers: Sendable {
    let context: Context
    let thread: SocketThread

    /// A client for an endpoint that a stream's description names.
    func client(for endpoint: String) throws(ZeroMQError) -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: endpoint)
    }

    /// Asks publishers how far their streams are. Those that do not answer in time are left out.
    func streams(at endpoints: Set<String>, timeout: Duration) async -> [StreamDescription] {
        await withTaskGroup(of: [StreamDescription].self) { group in
            for endpoint in endpoints {
                group.addTask {
                    (try? await self.client(for: endpoint).send(StreamsList(), timeout: timeout).streams) ?? []
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
