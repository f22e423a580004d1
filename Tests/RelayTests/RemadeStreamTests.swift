import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

@testable import NATS

/// Sessions during which the stream on real NATS servers is deleted and a relay makes it again.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RemadeStreamTests {
    private static let limit = Duration.seconds(120)
    private static let name = StreamName(device: "phone", stream: "noise")

    /// Everything from a sensor to a recorder.
    private struct Line: Sendable {
        let servers: NATSServers
        let server: RevivedProgram
        let programs: [RevivedProgram]
        /// Clients of the publisher, the serving relay and the recorder.
        let atSite: RequestClient
        let atCentre: RequestClient
        let recordings: RequestClient

        init(_ kind: NATSServers.Kind, in directory: FilePath) throws {
            servers = try NATSServers(kind, count: 1, in: directory)
            let ends = try FreePort.endpoints(8)
            func program(_ name: String, _ first: Int, _ arguments: [String]) throws -> RevivedProgram {
                try RevivedProgram(name, at: ends[first...(first + 1)], arguments, in: directory)
            }
            let publisher = try program(
                "sensor-publisher", 0,
                [
                    "--signal", "noise:seed=1", "--rate", "200", "--device", RemadeStreamTests.name.device, "--stream",
                    RemadeStreamTests.name.stream,
                    "--start-stopped",
                ])
            let sender = try program(
                "relay", 2,
                servers.options("to") + ["--subscribe", ends[0], "--data", "site", "--site", "lab", "--replicas", "1"])
            server = try program("relay", 4, servers.options("from") + ["--data", "centre"])
            let recorder = try program("recorder", 6, ["--subscribe", ends[4], "--data", "centre"])
            programs = servers.servers + [publisher, sender, server, recorder]
            let (context, thread) = (try Context(), try SocketThread(name: "test"))
            atSite = try RequestClient(context: context, thread: thread, endpoint: ends[1])
            atCentre = try RequestClient(context: context, thread: thread, endpoint: ends[5])
            recordings = try RequestClient(context: context, thread: thread, endpoint: ends[7])
        }

        /// The centre's description of the stream.
        func served() async throws -> StreamDescription? {
            try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams.first
        }

        /// Begins a session, before the first sample.
        func begin() async throws {
            try await eventually("the stream at the centre", within: RemadeStreamTests.limit) {
                try await served() != nil
            }
            try await eventually("a session", within: RemadeStreamTests.limit) {
                let request = RecordingStart(session: "far", streams: ["*"])
                return (try? await recordings.send(request, timeout: .seconds(60)))?.status == "running"
            }
        }

        /// Publishes samples until the site has this many, and waits until the session has all of them.
        /// - Returns: their number.
        func sample(_ count: Int) async throws -> Int {
            _ = try await atSite.send(StreamsStart(stream: RemadeStreamTests.name), timeout: .seconds(60))
            try await eventually("\(count) samples at the site", within: RemadeStreamTests.limit) {
                try await atSite.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0 >= count
            }
            let end = try await atSite.send(StreamsStop(stream: RemadeStreamTests.name), timeout: .seconds(60))
                .nextSequence
            try await eventually("\(end) samples", within: RemadeStreamTests.limit) {
                let status = try? await recordings.send(RecordingStatus(session: "far"), timeout: .seconds(60))
                guard let here = try await served(), here.state == .stopped, here.nextSequence == end else {
                    return false
                }
                return status?.logs.first?.samples == end
            }
            return end
        }

        func deleteStream() throws {
            let connection = try NATSConnection(NATSSettings(servers: servers.addresses, name: "test"))
            _ = try connection.request("$JS.API.STREAM.DELETE.holdfast", "", limit: NATSConnection.requestLimit)
        }
    }

    /// Samples taken while there is no stream wait at the site. The centre publishes them even if they were stored before its
    /// relay made its consumer again.
    @Test(arguments: NATSServers.Kind.allCases, [false, true])
    func everythingArrivesThroughAStreamThatIsMadeAnew(kind: NATSServers.Kind, whileTheCentreHangs: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let line = try Line(kind, in: directory)
            try await RevivedProgram.run(line.programs) {
                try await line.begin()
                var end = try await line.sample(1_000)
                for _ in 0..<2 {
                    async let hang: Void =
                        whileTheCentreHangs ? line.server.freeze(for: .seconds(4)) : ()
                    try line.deleteStream()
                    end = try await line.sample(end + 300)
                    try await hang
                }
                let result = try await line.recordings.send(RecordingStop(session: "far"), timeout: .seconds(60))
                let stream = try #require(result.report.streams.first)
                #expect(stream.gaps.isEmpty && stream.received == end, "\(stream)")
                // The stream's description is that of its last message.
                #expect(try await line.served()?.state == .stopped)
            }
        }
    }
}
