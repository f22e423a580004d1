import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// `recorder watch` with real programs: falls in recorded data are found at once, each in the middle of a whole session.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WatchTests {
    private static let rate = 100.0

    /// A synthetic recording of a person who sits and sometimes falls: free fall, the impact, and rest.
    /// - Parameter falls: the times of the impacts, in seconds.
    private static func recording(seconds: Int, falls: [Double]) -> String {
        var text = "t,x,y,z\n"
        for index in 0..<(seconds * Int(rate)) {
            let time = Double(index) / rate
            var value = 1 + 0.01 * Double(index % 7)
            for fall in falls {
                if time >= fall - 0.3, time < fall { value = 0.2 }
                if time >= fall, time < fall + 0.05 { value = 4.5 }
            }
            text += "\(time),0.1,-0.2,\(value)\n"
        }
        return text
    }

    private static func watch(
        _ rig: Rig, _ expression: String, _ options: [String], _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            "recorder",
            arguments: ["watch", "--when", expression, "--reply", rig.recorderReady.reply]
                + ["--publisher", rig.publisherReady.publish] + options, in: rig.directory, body)
    }

    /// The finished sessions in the output of a watch, with their lines.
    private static func ended(_ lines: String) -> [(session: String, line: Substring)] {
        lines.matches(of: #/(?m)^session (\S+) is over: .*$/#).map { (String($0.output.1), $0.output.0) }
    }

    /// The milliseconds between a publication and the line that reports it.
    private static func delays(_ lines: String) -> [Int] {
        lines.matches(of: #/found (-?\d+) ms after it was published/#).compactMap { Int($0.output.1) }
    }

    @Test func aFallInRecordedDataIsFoundAndHasItsPastAndItsFuture() async throws {
        let falls = [4.0, 9, 14]
        try await Rig.run(
            publishing: [
                "--replay", "fall.csv", "--rebase", "--unit", "g", "--device", "left-wrist", "--batch", "5",
                "--start-stopped",
            ], files: ["fall.csv": Self.recording(seconds: 18, falls: falls)]
        ) { rig in
            try await Self.watch(
                rig, "left-wrist/accelerometer |a| > 3g",
                ["--before", "2s", "--after", "1s", "--session-prefix", "fall", "--limit", "3"]
            ) { watch in
                _ = try await watch.line("the stream") { $0 == "watching left-wrist/accelerometer" }
                try await rig.startStream("left-wrist/accelerometer")
                #expect(try await watch.end() == .exited(0), "\(watch.standardOutput)\(watch.standardError)")
                let output = watch.standardOutput
                let delays = Self.delays(output)
                #expect(delays.count == falls.count)
                // On a machine with other work, a single line may be late.
                #expect(delays.sorted()[delays.count / 2] <= 200, "\(output)")
                let ended = Self.ended(output)
                #expect(ended.count == falls.count)
                for (index, session) in ended.map(\.session).sorted().enumerated() {
                    #expect(session.hasPrefix("fall-"))
                    let result = try await rig.recordings.send(
                        RecordingResultRequest(session: session), timeout: .seconds(60))
                    #expect(result.report.isWhole, "\(result.report)")
                    let samples = try LogItem.read(rig.onlyFile(of: result)).filter(\.isSample)
                    let impact = try #require(samples.firstIndex { ($0.z ?? 0) > 3 })
                    // The fall is 2 s after the session's beginning, give or take the delay of the publisher's clock reading.
                    #expect(abs(samples[impact].timestamp - 2) < 0.5, "\(samples[impact])")
                    #expect(abs(samples[0].timestamp) < 0.5, "\(samples[0])")
                    #expect(impact >= 150, "\(index): \(impact) samples before the fall")
                    #expect(samples.count - impact >= 50, "\(samples.count - impact) samples after the fall")
                    let verification = try await ProgramUnderTest.run(
                        "recorder", arguments: ["verify", result.directory]
                    ) { try await $0.end() }
                    #expect(verification == .exited(0))
                }
            }
        }
    }

    @Test func aKilledWatchLeavesASessionThatEndsByItself() async throws {
        try await Rig.run(
            publishing: ["--signal", "noise:seed=1", "--rate", "200", "--batch", "5", "--device", "phone"]
        ) { rig in
            let session = try await ProgramUnderTest.run(
                "recorder",
                arguments: ["watch", "--when", "phone/accelerometer rate > 50", "--reply", rig.recorderReady.reply]
                    + ["--publisher", rig.publisherReady.publish, "--before", "1s", "--after", "1s"],
                in: rig.directory
            ) { watch in
                let line = try await watch.line("a trigger") { $0.hasSuffix(" begins") }
                let session = try #require(line.split(separator: " ").dropLast().last).description
                try await eventually("the session") {
                    let known = try await rig.recordings.send(RecordingList(), timeout: .seconds(60)).recordings
                    return known.contains { $0.session == session }
                }
                try watch.send(.kill)
                #expect(try await watch.end() == .killed(by: 9))
                return session
            }
            let result = try await eventualValue("the end of the session", within: .seconds(50)) {
                try? await rig.recordings.send(RecordingResultRequest(session: session), timeout: .seconds(60))
            }
            #expect(result.report.isWhole)
        }
    }

    @Test func manyTriggersAsFastAsItGoesAreAllWhole() async throws {
        // One in 0.4 s; each session is over before the next one.
        let falls = (0..<40).map { 2 + 0.4 * Double($0) }
        try await Self.runMany(falls: falls, speed: 1)
    }

    private static func runMany(falls: [Double], speed: Double) async throws {
        let seconds = Int((falls.last ?? 0) + 3)
        try await Rig.run(
            publishing: [
                "--replay", "falls.csv", "--rebase", "--unit", "g", "--device", "left-wrist", "--batch", "2",
                "--start-stopped", "--speed", "\(speed)",
            ], files: ["falls.csv": recording(seconds: seconds, falls: falls)]
        ) { rig in
            try await watch(
                rig, "left-wrist/accelerometer |a| > 3g",
                ["--before", "150ms", "--after", "50ms", "--limit", "\(falls.count)"]
            ) { watch in
                _ = try await watch.line("the stream") { $0.hasPrefix("watching ") }
                try await rig.startStream("left-wrist/accelerometer")
                _ = try await rig.ended("left-wrist/accelerometer")
                try await eventually("the end of all sessions") {
                    let known = try await rig.recordings.send(RecordingList(), timeout: .seconds(60)).recordings
                    return !known.isEmpty && known.allSatisfy { $0.status == "finished" }
                }
                try? watch.send(.terminate)
                #expect(try await watch.end() == .exited(0), "\(watch.standardOutput)\(watch.standardError)")
                let output = watch.standardOutput
                #expect(delays(output).count == falls.count, "each fall was found")
                let ended = ended(output)
                #expect(ended.count > falls.count / 2)
                #expect(ended.allSatisfy { $0.line.contains(", whole, ") }, "\(output)")
                for (session, _) in ended {
                    let directory = rig.directory.appending("recordings").appending(session)
                    let verification = try await ProgramUnderTest.run(
                        "recorder", arguments: ["verify", directory.string]
                    ) { program in (try await program.end(), program.standardOutput) }
                    #expect(verification.0 == .exited(0), "\(verification.1)")
                }
            }
        }
    }
}
