import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A relay at a site whose servers are away for longer than its spool has room.
@Suite(.timeLimit(.minutes(4)))
struct FullSpoolTests {
    private static let limit = Duration.seconds(100)

    /// The relay hears the end of the run, although it accepts no samples.
    @Test func samplesOfARunThatEndsWhileTheSpoolIsFullAreCountedAsLost() async throws {
        try await withTemporaryDirectory { directory in
            let ends = try FreePort.endpoints(4)
            let publisher = try RevivedProgram(
                "sensor-publisher", at: ends[..<2],
                ["--signal", "sine", "--rate", "200", "--device", "phone", "--stream", "value"], in: directory)
            let relay = try RevivedProgram(
                "relay", at: ends[2...],
                ["--to", "nats://127.0.0.1:\(try FreePort.next())", "--subscribe", ends[0], "--data", "site"]
                    + ["--site", "lab", "--spool-limit", "20KB"], in: directory)
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let atPublisher = try RequestClient(context: context, thread: thread, endpoint: ends[1])
            let atRelay = try RequestClient(context: context, thread: thread, endpoint: ends[3])
            func published() async throws -> Int {
                try await atPublisher.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0
            }
            func health() async throws -> ServiceHealth.Reply {
                try await atRelay.send(ServiceHealth(), timeout: .seconds(60))
            }
            try await RevivedProgram.run([publisher, relay]) {
                try await eventually("a full spool", within: Self.limit) {
                    try await health().reasons.contains { $0.contains("the spool is full") }
                }
                let full = try await published()
                // This includes two descriptions, from which the relay knows of the samples.
                try await eventually("further samples", within: Self.limit) { try await published() > full + 500 }
                #expect(try await health().measures?["samplesLost"] == 0)
                try await publisher.kill()
                try await eventually("a loss", within: Self.limit) {
                    try await health().measures?["samplesLost"] ?? 0 > 0
                }
            }
        }
    }
}
