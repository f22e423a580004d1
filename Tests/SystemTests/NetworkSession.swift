import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// A session of a recorder on a network, as seen by a test.
struct NetworkSession: Sendable {
    let name: String
    let client: RequestClient

    func start(_ streams: [String] = ["*"]) async throws {
        _ = try await client.send(RecordingStart(session: name, streams: streams), timeout: .seconds(60))
    }

    func stop() async throws -> RecordingResult {
        try await client.send(RecordingStop(session: name), timeout: .seconds(60))
    }

    func samples() async throws -> [String: Int] {
        let state = try await client.send(RecordingStatus(session: name), timeout: .seconds(60))
        return state.logs.reduce(into: [:]) { $0[$1.stream.device] = $1.samples }
    }

    /// Waits until the session has a second of samples of each device.
    func has(_ devices: String...) async throws {
        try await eventually("samples of \(devices)") {
            let samples = try await samples()
            return devices.allSatisfy { samples[$0] ?? 0 > Network.rate }
        }
    }

    func health() async throws -> ServiceHealth.Reply {
        try await client.send(ServiceHealth(), timeout: .seconds(60))
    }

    /// Waits until the recorder's health has no reasons.
    func isWell() async throws {
        try await eventually("health to be well") { try await health().reasons.isEmpty }
    }

    /// Waits until the recorder's health includes a reason.
    func complains(of reason: String) async throws {
        try await eventually("health to tell of \(reason)") {
            try await health().reasons.contains { $0.contains(reason) }
        }
    }

    /// Waits until the recorder's health reports an absent publisher.
    func misses(_ address: String, within limit: Duration = .seconds(30)) async throws {
        try await eventually("health to tell that \(address) is away", within: limit) {
            try await health().reasons.contains { $0.contains("\(address) has been away since") }
        }
    }

    /// Checks that each device's log has each sample of its time once, on the grid of its rate.
    /// - Parameter stopped: the devices whose publisher was stopped meanwhile, which is a failure of the session.
    static func check(_ result: RecordingResult, devices: Set<String>, stopped: Set<String> = []) throws {
        #expect(result.report.isWhole == stopped.isEmpty, "\(result.report)")
        #expect(result.report.streams.allSatisfy { $0.lost == 0 })
        #expect(Set(result.report.failures.map { String($0.prefix { $0 != "/" }) }) == stopped)
        #expect(Set(result.report.streams.map(\.stream.device)) == devices)
        for log in result.logs {
            let uptimes = try samples(of: log, in: result).map(\.uptime)
            #expect(uptimes.count == log.samples)
            let steps = zip(uptimes, uptimes.dropFirst()).map { ($1 - $0) * Double(Network.rate) }
            #expect(steps.allSatisfy { abs($0 - 1) < 0.01 }, "samples of \(log.name) are missing or twice")
        }
    }

    static func samples(of log: RecordingResult.Log, in result: RecordingResult) throws -> [LogItem] {
        try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }.filter(\.isSample)
    }
}
