import MessageBus
package import Messages
import ZeroMQ

/// A running program as its subcommands ask it, over its REP socket. The endpoint is found as the program itself finds
/// it, so on one machine no options are needed.
package struct RunningProgram {
    private let program: Program
    private let client: RequestClient

    /// Connects.
    /// - Throws: `ServiceError` if the endpoint does not say where to ask.
    package init(_ program: Program, options: ServiceOptions) throws {
        let reader = try ConfigurationReader(for: program, flags: options.flags)
        let endpoint = try Self.endpoint(of: program, reading: reader)
        var socketOptions = SocketOptions()
        // Nothing is owed to a program that did not answer.
        socketOptions.linger = .zero
        self.program = program
        let peers = Peers(
            context: try Context(), thread: try SocketThread(name: "client"),
            security: try Security(askingWith: reader, as: program))
        client = try peers.client(of: program, at: endpoint, options: socketOptions)
    }

    /// Where a program is asked that listens at the setting `reply`.
    /// - Throws: `ServiceError` (bad configuration), also if that does not say which port it is.
    package static func endpoint(
        of program: Program, reading reader: ConfigurationReader
    ) throws(ServiceError) -> Endpoint {
        let listener = try reader.value(\ServiceSettings.$reply) ?? program.defaultReply
        guard let endpoint = listener.reachableLocally else {
            throw ServiceError(
                .badConfiguration, "\(listener) does not say which port to ask: give --reply the one of the ready line")
        }
        return endpoint
    }

    /// Asks.
    /// - Throws: `RequestError` if it is refused, `ServiceError` (peer unavailable) where nobody answers in time.
    package func ask<Question: Request>(
        _ question: Question, timeout: TimeSpan = .seconds(10)
    ) async throws -> Question.Reply {
        do {
            return try await client.send(question, timeout: timeout.duration)
        } catch let error as ZeroMQError where error.code == .timedOut {
            throw ServiceError(
                .peerUnavailable,
                "no \(program) answers at \(client.endpoint) within \(timeout): start one, or say --reply ENDPOINT")
        }
    }
}
