import MessageBus
package import Messages
import ZeroMQ

/// A running program, which its subcommands ask over its REP socket. They find the endpoint as the program itself does, so no
/// options are needed on the same machine.
package struct RunningProgram {
    private let program: Program
    private let client: RequestClient

    /// Connects to the program.
    /// - Throws: `ServiceError` if the endpoint has no port to connect to.
    package init(_ program: Program, options: ServiceOptions) throws {
        let reader = try ConfigurationReader(for: program, flags: options.flags)
        let endpoint = try Self.endpoint(of: program, reading: reader)
        var socketOptions = SocketOptions()
        // A request to a program that did not answer need not be delivered.
        socketOptions.linger = .zero
        self.program = program
        let peers = Peers(
            context: try Context(), thread: try SocketThread(name: "client"),
            security: try Security(askingWith: reader, as: program))
        client = try peers.client(of: program, at: endpoint, options: socketOptions)
    }

    /// The endpoint of a program that listens at the setting `reply`.
    /// - Throws: `ServiceError` (bad configuration), also if the setting does not determine the port.
    package static func endpoint(
        of program: Program, reading reader: ConfigurationReader
    ) throws(ServiceError) -> Endpoint {
        let listener = try reader.value(\ServiceSettings.$reply) ?? program.defaultReply
        guard let endpoint = listener.reachableLocally else {
            throw ServiceError(
                .badConfiguration,
                "\(listener) has no fixed port to send requests to: pass --reply with the port in the ready line")
        }
        return endpoint
    }

    /// Sends a request and waits for its reply.
    /// - Throws: `RequestError` if the request is refused, `ServiceError` (peer unavailable) if there is no reply in time.
    package func ask<Question: Request>(
        _ question: Question, timeout: TimeSpan = .seconds(10)
    ) async throws -> Question.Reply {
        do {
            return try await client.send(question, timeout: timeout.duration)
        } catch let error as ZeroMQError where error.code == .timedOut {
            throw ServiceError(
                .peerUnavailable,
                "no \(program) answers at \(client.endpoint) within \(timeout): start one, or pass --reply ENDPOINT")
        }
    }
}
