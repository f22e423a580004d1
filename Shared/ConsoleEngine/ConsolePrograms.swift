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
    /// - Throws: `ServiceError` (bad configuration) without a key for one of them, `ZeroMQError`.
    init(_ settings: ConsoleSettings, peers: Peers) throws {
        var options = SocketOptions()
        // Nothing is owed to a program that did not answer.
        options.linger = .zero
        publisher = try peers.client(of: .sensorPublisher, at: settings.sensorPublisher, options: options)
        recorder = try peers.client(of: .recorder, at: settings.recorder, options: options)
        stepCounter = try peers.client(of: .stepCounter, at: settings.stepCounter, options: options)
        logManager = try peers.client(of: .logManager, at: settings.logManager, options: options)
        archiver = try peers.client(of: .archiver, at: settings.archiver, options: options)
    }

    /// The sessions that run, as the recorder lists them; nil if it does not answer within a time.
    func runningSessions(within limit: Duration) async -> [String]? {
        guard let list = try? await recorder.send(RecordingList(), timeout: limit) else { return nil }
        return list.recordings.filter { $0.endDate == nil }.map(\.session)
    }
}
