import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// The five programs as the console asks them.
struct ConsolePrograms: Sendable {
    let publisher: RequestClient
    let recorder: RequestClient
    let stepCounter: RequestClient
    let logManager: RequestClient
    let archiver: RequestClient

    /// By name, in the order in which data passes through them.
    var all: [(name: String, client: RequestClient)] {
        [
            (Program.sensorPublisher.rawValue, publisher), (Program.recorder.rawValue, recorder),
            (Program.stepCounter.rawValue, stepCounter), (Program.logManager.rawValue, logManager),
            (Program.archiver.rawValue, archiver),
        ]
    }

    /// Connects.
    /// - Parameter endpoint: where each is asked; there is no way yet to show a key, so each is on this machine.
    /// - Throws: `ServiceError` (bad configuration) for another machine, `ZeroMQError`.
    init(_ endpoint: (Program) -> Endpoint) throws {
        let context = try Context()
        let thread = try SocketThread(name: "bus")
        var options = SocketOptions()
        // Nothing is owed to a program that did not answer.
        options.linger = .zero
        func client(_ program: Program) throws -> RequestClient {
            let endpoint = endpoint(program)
            try endpoint.requireLocal(connectingTo: program)
            return try RequestClient(
                context: context, thread: thread, endpoint: endpoint.description, options: options)
        }
        publisher = try client(.sensorPublisher)
        recorder = try client(.recorder)
        stepCounter = try client(.stepCounter)
        logManager = try client(.logManager)
        archiver = try client(.archiver)
    }
}
