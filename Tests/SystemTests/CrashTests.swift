import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// The recorder's promise when it is killed: the session continues, and each sample is there once, in order.
///
/// The crash laboratory does the same at random instants, many times; these are the named cases.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CrashTests {
    /// The publisher's options. Noise, because each sample is then different.
    private static let noise = ["--signal", "noise:seed=1", "--rate", "500", "--batch", "5", "--device", "phone"]

    /// Expects each sample of a stream once and in order: on the publisher's grid, without missing ones in between.
    private static func expectWhole(_ samples: [LogItem], rate: Double) {
        let steps = zip(samples, samples.dropFirst()).map { ($1.uptime - $0.uptime) * rate }
        #expect(steps.allSatisfy { abs($0 - 1) < 1e-3 }, "\(steps.filter { abs($0 - 1) >= 1e-3 })")
        #expect(Set(samples.map(\.x)).count == samples.count)
    }

    @Test(arguments: [nil, 8_000])
    func case4AKilledRecorderGoesOnWithItsSession(maximumFileSize: Int?) async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { recorder in
                    try await cutoff.start(
                        RecordingStart(
                            session: "walk", task: "Walk", step: "out", streams: ["phone/"],
                            maximumFileSize: maximumFileSize))
                    try await cutoff.more(200, in: "walk")
                    try await cutoff.kill(recorder)
                }
                // Twice in a row, the second time as soon as the recorder is ready.
                try await cutoff.recorder { try await cutoff.kill($0) }
                try await cutoff.recorder { recorder in
                    try await cutoff.more(200, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole, "\(result.report)")
                    let stream = try #require(result.report.streams.first)
                    #expect(stream.isEndKnown)
                    #expect(stream.recovered > 0)
                    #expect((1...2).contains(result.report.restarts?.count ?? 0))
                    let clock = try #require(result.report.clocks?.first)
                    // One comparison at the end at least: a kill may end the first second.
                    #expect(clock.comparisons >= 1)
                    #expect(abs(clock.last) <= clock.uncertainty + 1e-3)
                    let log = try #require(result.logs.first)
                    #expect(maximumFileSize == nil ? log.files.count == 1 : log.files.count > 2)
                    let records = try cutoff.records(of: log, in: result)
                    let samples = records.filter { $0.marker == nil }
                    #expect(samples.count == stream.received)
                    #expect(samples.count == stream.expected)
                    Self.expectWhole(samples, rate: 500)
                    #expect(records.first?.marker == "start")
                    #expect(records.last?.marker == "stop")
                    #expect(records.filter { $0.marker == "resumed" }.count == result.report.restarts?.count)
                    try recorder.send(.terminate)
                    #expect(try await recorder.end() == .exited(0))
                }
            }
        }
    }

    /// The same happens in an upgrade of the package and in a reboot.
    @Test func aRecorderThatIsToldToStopMayLeaveItsSessionToTheNext() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder(["--on-stop", "continue"]) { recorder in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(100, in: "walk")
                    try recorder.send(.terminate)
                    #expect(try await recorder.end() == .exited(0))
                }
                try await cutoff.recorder { _ in
                    try await cutoff.more(100, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole, "\(result.report)")
                    #expect(result.report.restarts?.count == 1)
                    let records = try cutoff.records(of: #require(result.logs.first), in: result)
                    Self.expectWhole(records.filter { $0.marker == nil }, rate: 500)
                }
            }
        }
    }

    @Test func stepsAndPausesSurviveAKill() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { recorder in
                    try await cutoff.start(
                        RecordingStart(session: "walk", task: "Walk", step: "out", streams: ["phone/"], format: "json"))
                    try await cutoff.more(100, in: "walk")
                    _ = try await cutoff.ask(RecordingMoveTo(session: "walk", step: "back"))
                    _ = try await cutoff.ask(RecordingPause(session: "walk"))
                    // Some samples are left out before the kill, and some are recorded after the pause.
                    let paused = try await cutoff.published()
                    try await eventually("samples in the pause") { try await cutoff.published() > paused + 100 }
                    _ = try await cutoff.ask(RecordingResume(session: "walk"))
                    try await cutoff.more(20, in: "walk")
                    _ = try await cutoff.ask(RecordingPause(session: "walk"))
                    try await cutoff.kill(recorder)
                }
                try await cutoff.recorder { _ in
                    let status = try await cutoff.ask(RecordingStatus(session: "walk"))
                    #expect(status.step == "Walk/back")
                    #expect(status.paused)
                    _ = try await cutoff.ask(RecordingResume(session: "walk"))
                    try await cutoff.more(100, in: "walk")
                    let result = try await cutoff.stop("walk")
                    let stream = try #require(result.report.streams.first)
                    #expect(result.report.isWhole, "\(result.report)")
                    #expect(stream.paused > 100)
                    let span = try #require(stream.epochs?.first)
                    #expect(span.next - span.from == stream.received)
                    let records = try cutoff.records(of: #require(result.logs.first), in: result)
                    let samples = records.filter { $0.marker == nil }
                    #expect(samples.count == stream.received - stream.paused)
                    #expect(Set(samples.map(\.x)).count == samples.count)
                    #expect(samples.map(\.uptime) == samples.map(\.uptime).sorted())
                    #expect(Set(samples.map(\.stepPath)) == ["Walk/out", "Walk/back"])
                    let pauses = records.filter { $0.marker == "pause" || $0.marker == "resume" }.map(\.marker)
                    // After a restart during a pause the log repeats the marker, because the first may have been torn.
                    #expect(pauses == ["pause", "resume", "pause", "pause", "resume"])
                }
            }
        }
    }

    @Test func theStepsAndThePauseOfOneStreamSurviveAKill() async throws {
        let configuration = #"""
            {"sensor-publisher": {"streams": [
              {"device": "phone", "stream": "gyro", "signal": "noise:seed=1", "rate": 500, "batch": 5},
              {"device": "watch", "stream": "gyro", "signal": "noise:seed=2", "rate": 500, "batch": 5}
            ]}}
            """#
        try await Cutoff.run { cutoff in
            let file = cutoff.directory.appending("two.json")
            try Data(configuration.utf8).write(to: URL(filePath: file.string))
            let watch = StreamName(device: "watch", stream: "gyro")
            let phone = StreamName(device: "phone", stream: "gyro")
            func samples(_ stream: StreamName) async throws -> Int {
                let logs = try await cutoff.ask(RecordingStatus(session: "walk")).logs
                return logs.first { $0.stream == stream }?.samples ?? 0
            }
            /// Waits for more samples of a stream, and expects none of another.
            func wait(for stream: StreamName, without other: StreamName? = nil) async throws {
                let (before, still) = (try await samples(stream), try await other.asyncMap(samples))
                try await eventually("samples of \(stream)") { try await samples(stream) >= before + 200 }
                #expect(try await other.asyncMap(samples) == still)
            }
            try await cutoff.publisher(["--config", file.string]) { _ in
                try await cutoff.recorder { recorder in
                    var request = RecordingStart(session: "walk", task: "Walk", step: "rest", streams: [])
                    request.streams = [
                        StreamChoice("phone/"), StreamChoice("watch/", fromStep: "walk", toStep: "walk"),
                    ]
                    try await cutoff.start(request)
                    try await wait(for: phone, without: watch)
                    try await cutoff.kill(recorder)
                }
                try await cutoff.recorder { recorder in
                    try await wait(for: phone, without: watch)
                    _ = try await cutoff.ask(RecordingMoveTo(session: "walk", step: "walk"))
                    try await wait(for: watch)
                    _ = try await cutoff.ask(RecordingPause(session: "walk", stream: phone))
                    try await wait(for: watch)
                    try await cutoff.kill(recorder)
                }
                try await cutoff.recorder { recorder in
                    let status = try await cutoff.ask(RecordingStatus(session: "walk"))
                    #expect(!status.paused && status.pausedStreams == [phone])
                    #expect(status.configuration?.choices?.map(\.stream) == ["watch/"])
                    try await wait(for: watch)
                    _ = try await cutoff.ask(RecordingMoveTo(session: "walk", step: "rest"))
                    _ = try await cutoff.ask(RecordingResume(session: "walk", stream: phone))
                    try await wait(for: phone)
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole, "\(result.report)")
                    #expect(result.report.streams.map(\.origin) == [.simulated, .simulated])
                    for (log, stream) in zip(result.logs, result.report.streams) {
                        let records = try cutoff.records(of: log, in: result)
                        let samples = records.filter { $0.marker == nil }
                        #expect(samples.count == stream.received - stream.paused)
                        #expect(stream.paused > 200)
                        #expect(Set(samples.map(\.x)).count == samples.count)
                        let steps = Set(samples.map(\.stepPath))
                        #expect(steps == (stream.stream == watch ? ["Walk/walk"] : ["Walk/rest", "Walk/walk"]))
                        #expect(records.contains { $0.marker == "pause" } && records.contains { $0.marker == "resume" })
                    }
                    let verified = try await ProgramUnderTest.run("recorder", arguments: ["verify", result.directory]) {
                        try await $0.end()
                    }
                    #expect(verified == .exited(0))
                    try recorder.send(.terminate)
                    #expect(try await recorder.end() == .exited(0))
                }
            }
        }
    }

    @Test func aPublisherThatIsKilledAndComesBackIsRecordedOn() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder { recorder in
                try await cutoff.publisher(Self.noise) { publisher in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(200, in: "walk")
                    try await cutoff.kill(publisher)
                }
                try await cutoff.publisher(Self.noise) { _ in
                    try await cutoff.more(200, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole, "\(result.report)")
                    let stream = try #require(result.report.streams.first)
                    #expect(stream.epochs?.count == 2)
                    #expect(stream.epochs?.last?.from == 0)
                    let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                        .filter { $0.marker == nil }
                    #expect(samples.count == stream.received)
                    let uptimes = samples.map(\.uptime)
                    #expect(uptimes == uptimes.sorted())
                    #expect(Set(uptimes).count == uptimes.count)
                }
                try recorder.send(.terminate)
                #expect(try await recorder.end() == .exited(0))
            }
        }
    }

    @Test func whatNobodyCanTellAnyMoreIsSaid() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { publisher in
                try await cutoff.recorder { recorder in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(200, in: "walk")
                    try await cutoff.kill(recorder)
                }
                // The publisher continues without a recorder, and its samples are lost with it.
                try await cutoff.kill(publisher)
            }
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { recorder in
                    try await cutoff.more(100, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(!result.report.isWhole)
                    let gap = try #require(result.report.streams.first?.gaps.first)
                    #expect(gap.reason == .epochEnded)
                    #expect(gap.count == 0)
                    #expect(result.report.streams.first?.gaps.count == 1)
                    let records = try cutoff.records(of: #require(result.logs.first), in: result)
                    #expect(records.filter { $0.marker == "gap" }.map(\.from) == [gap.from])
                    try recorder.send(.terminate)
                    #expect(try await recorder.end() == .exited(3))
                }
            }
        }
    }

    @Test func aStopThatWasCutOffIsFinished() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { publisher in
                try await cutoff.recorder { recorder in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(200, in: "walk")
                    // The publisher hangs, so the stop must wait for it.
                    try publisher.send(.stop)
                    let stop = Task { try await cutoff.stop("walk", with: cutoff.otherRequests()) }
                    try await cutoff.reach("waitingToStop", of: "walk")
                    try await cutoff.kill(recorder)
                    try publisher.send(.resume)
                    try await cutoff.recorder { _ in
                        // The client repeated the request by itself.
                        let result = try await stop.value
                        #expect(result.status == "finished")
                        #expect(result.report.isWhole, "\(result.report)")
                        let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                            .filter { $0.marker == nil }
                        Self.expectWhole(samples, rate: 500)
                    }
                }
            }
        }
    }

    @Test func aSecondRecorderOnOneDataDirectoryIsRefused() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder { _ in
                try await ProgramUnderTest.run(
                    "recorder",
                    arguments: ProgramUnderTest.anyPorts + ["--data", cutoff.directory.string], in: cutoff.directory
                ) { second in
                    try await second.complaint(containing: "a recorder uses it")
                    #expect(try await second.end() == .exited(78))
                }
            }
        }
    }

    @Test func aSessionWhoseDirectoryIsRemovedFailsAndTheRecorderLives() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { _ in
                    try await cutoff.start(RecordingStart(session: "gone", streams: ["phone/"]))
                    try await cutoff.more(100, in: "gone")
                    try FileManager.default.removeItem(
                        atPath: cutoff.directory.appending("recordings/gone").string)
                    try await cutoff.reach("failed", of: "gone")
                    let result = try await cutoff.stop("gone")
                    #expect(result.status == "failed")
                    #expect(result.report.failures.contains { $0.contains("removed") })
                    try await cutoff.start(RecordingStart(session: "next", streams: ["phone/"]))
                    try await cutoff.more(100, in: "next")
                    #expect(try await cutoff.stop("next").report.isWhole)
                }
            }
        }
    }
}

extension Cutoff {
    /// Sends a request to the recorder.
    func ask<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await recordings.send(request, timeout: .seconds(60))
    }

    /// Waits until a session has a status.
    /// - Throws: `TestFailure` with the statuses that it had instead.
    func reach(_ status: String, of session: String) async throws {
        var passed: [String] = []
        do {
            try await eventually("\(session): \(status)") {
                let current = try await recordings.send(RecordingStatus(session: session), timeout: .seconds(60)).status
                if passed.last != current { passed.append(current) }
                return current == status
            }
        } catch let failure as TestFailure {
            throw TestFailure("\(failure); it was \(passed)")
        }
    }

    /// The number of samples that the first stream has published.
    func published() async throws -> Int {
        try await streams.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async rethrows -> Result? {
        guard let self else { return nil }
        return try await body(self)
    }
}
