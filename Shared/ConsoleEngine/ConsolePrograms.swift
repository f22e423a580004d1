import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Clients for the five programs that the console queries.
struct ConsolePrograms: Sendable {
    let publisher: RequestClient
    let recorder: RequestClient
    let stepCounter: RequestClient
    let logManager: RequestClient
    let archiver: RequestClient

    /// By name, in the order in which data passes through the programs.
    var all: [(name: String, client: RequestClient)] {
        [
            (Program.sensorPublisher.rawValue, publisher), (Program.recorder.rawValue, recorder),
            (Program.stepCounter.rawValue, stepCounter), (Program.logManager.rawValue, logManager),
            (Program.archiver.rawValue, archiver),
        ]
    }

    /// The running sessions according to the recorder; nil if it does not reply within `limit`.
    func runningSessions(within limit: Duration) async -> [String]? {
        guard let list = try? await recorder.send(RecordingList(), timeout: limit) else { return nil }
        return list.recordings.filter { $0.endDate == nil }.map(\.session)
    }
}

extension ConsolePrograms {
    /// Connects to the programs.
    /// - Throws: `ServiceError` (bad configuration) if the key of one is missing, `ZeroMQError`.
    init(_ settings: ConsoleSettings, peers: Peers) throws {
        var options = SocketOptions()
        // Unsent requests are dropped at the end.
        options.linger = .zero
        publisher = try peers.client(of: .sensorPublisher, at: settings.sensorPublisher, options: options)
        recorder = try peers.client(of: .recorder, at: settings.recorder, options: options)
        stepCounter = try peers.client(of: .stepCounter, at: settings.stepCounter, options: options)
        logManager = try peers.client(of: .logManager, at: settings.logManager, options: options)
        archiver = try peers.client(of: .archiver, at: settings.archiver, options: options)
    }
}
