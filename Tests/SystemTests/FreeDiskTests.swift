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

    @Test(.enabled(if: SmallDisk.isPossible, "a small disk needs a mount namespace"))
    func aSessionStopsInGoodOrderAtTheFloor() async throws {
        try await FullDisk.run(megabytes: 64, rate: 10_000, options: ["--minimum-free", "48MB"]) { disk in
            _ = try await disk.recordings.send(
                RecordingStart(session: "s", streams: ["phone/"]), timeout: .seconds(60))
            let report = try #require(
                try await AcceptanceTests.events(of: "s", from: disk.events).last?.report)
            #expect(report.status == "finished")
            #expect(report.failures.count == 1)
            #expect(report.failures.first?.contains("--minimum-free") == true)
            let stream = try #require(report.streams.first)
            #expect(stream.lost == 0 && stream.isEndKnown)
            let file = try #require(stream.files.first)
            let records = try LogItem.read(disk.data.appending("recordings/s").appending(file))
            #expect(records.last?.marker == "stop")
            #expect(records.filter { $0.marker == nil }.count == stream.received)
            try disk.recorder.send(.terminate)
            #expect(try await disk.recorder.end() == .exited(3))
        }
    }
}
