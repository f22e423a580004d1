import MessageBus
import Messages
import SampleSources
import TestSupport
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct SensorPublisherProgramTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    @Test func onASignalItPublishesWhatWaitsAndSaysWhereItEnded() async throws {
        let arguments = ProgramUnderTest.anyPorts + ["--signal", "walk", "--rate", "500", "--batch", "1000"]
        try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
            let ready = try await program.ready()
            let listener = try await Listener(to: ready.publish, context: context, thread: thread)
            try program.send(.terminate)
            let (batches, last) = try await listener.batches { $0.state == .stopped }
            let heard = try #require(batches.last)
            #expect(last.nextSequence == heard.batch.sequence + heard.rows.count)
            let end = try await program.end()
            #expect(end == .exited(0))
        }
    }

    @Test func linesOnStandardInputArePublished() async throws {
        let input = "t,x,y,z\n10,1,2,3\n10.5,4,five,6\n11,7,8,9\n"
        try await ProgramUnderTest.run(
            "sensor-publisher", arguments: ProgramUnderTest.anyPorts + ["--stdin", "csv", "--unit", "g"],
            input: Array(input.utf8)
        ) { program in
            let ready = try await program.ready()
            let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
            let stream = try await eventualValue("the end of the input") {
                try await client.send(StreamsList(), timeout: .seconds(50)).streams.first { $0.state == .failed }
            }
            #expect(stream.nextSequence == 2)
            #expect(stream.reason?.hasPrefix("standard input was closed") == true)
            #expect(try #require(stream.lastSample) < stream.clock.uptime)
            #expect(stream.unit == "g")
            #expect(stream.fields == ["uptime", "x", "y", "z"])
            let (_, frames) = try await client.sendForFrames(
                SamplesReplay(device: "phone", stream: "accelerometer", epoch: stream.epoch, from: 0, count: 9),
                timeout: .seconds(50))
            let rows = try frames.flatMap { try WireCoding.decode(SampleBatch.self, from: $0).values ?? [] }
            #expect(rows.map { Array($0.dropFirst()) } == [[1, 2, 3], [7, 8, 9]])
            let distance = try #require(rows.last)[0] - (try #require(rows.first))[0]
            #expect(abs(distance - 1) < 1e-6)
            let health = try await client.send(ServiceHealth(), timeout: .seconds(50))
            #expect(health.status == .degraded)
            #expect(health.reasons.contains { $0.contains("line 3: y: \"five\" is not a number") })
            let refusal = await #expect(throws: RequestError.self) {
                try await client.send(StreamsStart(stream: stream.name), timeout: .seconds(50))
            }
            #expect(refusal?.data?.reason == "finished")
            try program.send(.terminate)
            let end = try await program.end()
            #expect(end == .exited(0))
        }
    }

    @Test func withoutASourceItSaysWhichThereAre() async throws {
        try await ProgramUnderTest.run("sensor-publisher", arguments: ProgramUnderTest.anyPorts) { program in
            let end = try await program.end()
            #expect(end == .exited(64))
            #expect(program.standardError.contains("--signal SPEC, --points FILE, --replay FILE, --stdin csv|ndjson"))
        }
    }

    @Test func aFileThatCannotBePlayedEndsItBeforeItIsReady() async throws {
        try await withFile("bad.csv", "1,2,3\n") { path in
            let arguments = ProgramUnderTest.anyPorts + ["--replay", path]
            for more in [[], ["--check"]] {
                try await ProgramUnderTest.run("sensor-publisher", arguments: arguments + more) { program in
                    let end = try await program.end()
                    #expect(end == .exited(78))
                    #expect(program.standardOutput.isEmpty)
                    #expect(program.standardError.contains("bad.csv, line 1: the header is missing"))
                }
            }
        }
    }
}
