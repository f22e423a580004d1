import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// `--minimum-free`: sessions stop before the disk is full.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct FreeDiskTests {
    @Test func nothingStartsBelowTheFloor() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder(["--minimum-free", "1000000GB"]) { _ in
                let refusal = await #expect(throws: RequestError.self) {
                    try await cutoff.start(RecordingStart(session: "s", streams: ["phone/"]))
                }
                #expect(refusal?.data?.reason == "noSpace")
                #expect(refusal?.message.contains("--minimum-free") == true)
            }
        }
    }

    @Test(.enabled(if: FullDisk.isPossible, "a small disk needs a mount namespace"))
    func aSessionStopsInGoodOrderAtTheFloor() async throws {
        let noise = [
            "--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*", "--device", "phone", "--signal",
            "noise:seed=1", "--rate", "10000", "--batch", "100",
        ]
        try await withTemporaryDirectory { directory in
            let context = try Context()
            let thread = try SocketThread(name: "test")
            try await ProgramUnderTest.run("sensor-publisher", arguments: noise, in: directory) { publisher in
                let endpoint = try await publisher.ready().publish
                try await FullDisk.run(
                    megabytes: 24, subscribe: endpoint, options: ["--minimum-free", "12MB"], in: directory
                ) { disk in
                    let events = try Subscriber(context: context, thread: thread)
                    try await events.subscribe(to: TopicArea.recording)
                    try await events.connect(to: disk.ready.publish)
                    let client = try RequestClient(context: context, thread: thread, endpoint: disk.ready.reply)
                    _ = try await client.send(
                        RecordingStart(session: "s", streams: ["phone/"]), timeout: .seconds(10))
                    let report = try #require(
                        try await AcceptanceTests.events(of: "s", from: events).last?.report)
                    #expect(report.status == "finished")
                    #expect(report.failures.count == 1)
                    #expect(report.failures.first?.contains("--minimum-free") == true)
                    let stream = try #require(report.streams.first)
                    #expect(stream.lost == 0 && stream.isEndKnown)
                    let file = try #require(stream.files.first)
                    let records = try LogRecord.read(disk.data.appending("recordings/s").appending(file))
                    #expect(records.last?.marker == "stop")
                    #expect(records.filter { $0.marker == nil }.count == stream.received)
                    let health = try await client.send(ServiceHealth(), timeout: .seconds(10))
                    #expect(health.status == .degraded)
                    try disk.recorder.send(.terminate)
                    #expect(try await disk.recorder.end() == .exited(3))
                }
            }
        }
    }
}
