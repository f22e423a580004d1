import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The end of a publisher's run that a recorder missed, and that real NATS servers keep.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelayFillTests {
    private static let limit = Duration.seconds(120)

    /// A recorder that comes back requests the end of the run. If it does not hear the relay before the session is stopped, the
    /// end is filled in.
    @Test(arguments: NATSServers.Kind.allCases, [([], false), ([], true), (["--packed"], true)])
    func theEndOfARunThatWasNotHeardIsHad(
        kind: NATSServers.Kind, by way: (options: [String], isFilledIn: Bool)
    ) async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(kind, count: 1, in: directory)
            let ends = try FreePort.endpoints(8)
            func program(_ name: String, _ first: Int, _ arguments: [String]) throws -> RevivedProgram {
                try RevivedProgram(name, at: ends[first...(first + 1)], arguments, in: directory)
            }
            let signal = ["--signal", "noise:seed=1", "--rate", "200", "--device", "phone", "--stream", "noise"]
            let publisher = try program("sensor-publisher", 0, signal + way.options)
            let sender = try program(
                "relay", 2,
                servers.options("to") + ["--subscribe", ends[0], "--data", "site", "--site", "lab", "--replicas", "1"])
            let server = try program("relay", 4, servers.options("from") + ["--data", "centre"])
            let recorder = try program("recorder", 6, ["--subscribe", ends[4], "--data", "centre"])
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let centre = try RequestClient(context: context, thread: thread, endpoint: ends[5])
            let recordings = try RequestClient(context: context, thread: thread, endpoint: ends[7])
            func served() async throws -> StreamDescription? {
                try await centre.send(StreamsList(), timeout: .seconds(60)).streams.first
            }
            func recorded(_ samples: Int) async throws {
                try await eventually("\(samples) samples", within: Self.limit) {
                    let status = try? await recordings.send(RecordingStatus(session: "far"), timeout: .seconds(60))
                    return status?.logs.first?.samples ?? 0 >= samples
                }
            }
            try await RevivedProgram.run(servers.servers + [publisher, sender, server, recorder]) {
                try await eventually("the stream at the centre", within: Self.limit) { try await served() != nil }
                let request = RecordingStart(session: "far", streams: ["*"])
                try await eventually("a session", within: Self.limit) {
                    (try? await recordings.send(request, timeout: .seconds(60)))?.status == "running"
                }
                // The last samples before the kill are not durable, and are missing too: all that were replayed, if those
                // that arrived by themselves were behind a gap.
                try await recorded(400)
                try await recorder.hold()
                let former = try #require(try await served())
                try await eventually("samples without a recorder", within: Self.limit) {
                    try await served()?.nextSequence ?? 0 > former.nextSequence + 300
                }
                try await publisher.kill()
                try await eventually("the next run at the centre", within: Self.limit) {
                    guard let now = try await served() else { return false }
                    return now.epoch != former.epoch && now.nextSequence > 100
                }
                if way.isFilledIn { try await server.hold() }
                try await recorder.release()
                if !way.isFilledIn { try await recorded(1_000) }
                let result = try await recordings.send(RecordingStop(session: "far"), timeout: .seconds(60))
                if way.isFilledIn { try await server.release() }
                try await eventually("the stream at the centre", within: Self.limit) { try await served() != nil }
                let stream = try #require(result.report.streams.first)
                #expect(stream.gaps.allSatisfy { $0.epoch == former.epoch }, "\(stream.gaps)")
                // The last gap's length is unknown: another complete run might have been published meanwhile.
                #expect(stream.gaps.last?.count == 0 && (way.isFilledIn || stream.gaps.count == 1), "\(stream.gaps)")
                // All samples of the run that the servers have, from the session's start.
                let span = try #require(stream.epochs?.first)
                var kept = 0
                while true {
                    let reply = try await centre.send(
                        SamplesReplay(
                            device: "phone", stream: "noise", epoch: former.epoch, from: span.from + kept,
                            count: 100_000),
                        timeout: .seconds(60))
                    guard reply.count > 0 else { break }
                    // The first message may begin before the session.
                    kept = reply.from + reply.count - span.from
                }
                let own = span.next - span.from - stream.gaps.reduce(0) { $0 + $1.count }
                guard way.isFilledIn else {
                    return #expect(own == kept && own > 700 && stream.received > own, "\(stream)")
                }
                #expect(own > 0 && kept > own + 300)
                func run(_ arguments: [String]) async throws -> (end: ProgramEnd, output: String) {
                    try await ProgramUnderTest.run("recorder", arguments: arguments, in: directory) { program in
                        let end = try await program.end(within: Self.limit)
                        return (end, program.standardOutput + program.standardError)
                    }
                }
                let filled = try await run(["fill", result.directory, "--from", ends[5]])
                // The site may still send more: the servers have nothing later of this run.
                #expect(filled.end == .exited(3), "\(filled)")
                let verified = try await run(["verify", result.directory])
                #expect(verified.end == .exited(3), "\(verified)")
                #expect(verified.output.contains("\(kept - own) lost samples of phone were filled in"), "\(verified)")
                #expect(
                    filled.output.contains("filled \(kept - own) samples; 1 gap left"), "\(filled) \(kept) \(own)")
            }
        }
    }
}
