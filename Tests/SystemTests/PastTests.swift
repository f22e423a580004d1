import MessageBus
import Messages
import TestSupport
import Testing

/// Sessions that begin before they are requested, with real programs that are killed while they fetch the past.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PastTests {
    private static let noise = ["--signal", "noise:seed=1", "--rate", "500", "--batch", "5", "--device", "phone"]
    private static let request = RecordingStart(session: "walk", streams: ["phone/"], before: 60)

    private static func verify(_ directory: String) async throws -> ProgramEnd {
        try await ProgramUnderTest.run("recorder", arguments: ["verify", directory]) { try await $0.end() }
    }

    @Test func aRecorderKilledWhileItFetchesThePastHasAllOfIt() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { recorder in
                    try await eventually("a past") { try await cutoff.published() > 2_000 }
                    try await cutoff.start(Self.request)
                    try await cutoff.kill(recorder)
                }
                try await cutoff.recorder { try await cutoff.kill($0) }
                try await cutoff.recorder { _ in
                    try await cutoff.more(2_100, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole, "\(result.report)")
                    let stream = try #require(result.report.streams.first)
                    #expect(stream.epochs?.map(\.from) == [0], "the publisher is younger than the session")
                    let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                        .filter { $0.marker == nil }
                    #expect(samples.count == stream.expected)
                    #expect(samples.count > 2_000)
                    // Each sample is there once and in order, on the publisher's grid.
                    let steps = zip(samples, samples.dropFirst()).map { ($1.uptime - $0.uptime) * 500 }
                    #expect(steps.allSatisfy { abs($0 - 1) < 1e-3 })
                    #expect(try await Self.verify(result.directory) == .exited(0))
                }
            }
        }
    }

    @Test func whatAPublisherKilledMeanwhileTookWithItIsAGap() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder { _ in
                let published = try await cutoff.publisher(Self.noise) { publisher in
                    try await eventually("a past") { try await cutoff.published() > 2_000 }
                    let published = try await cutoff.published()
                    try await cutoff.start(Self.request)
                    try await cutoff.kill(publisher)
                    return published
                }
                try await cutoff.publisher(Self.noise) { _ in
                    try await eventually("the second run") {
                        let report = try await cutoff.recordings.send(
                            RecordingStatus(session: "walk"), timeout: .seconds(60))
                        return try await cutoff.published() > 200 && report.logs.first.map { $0.samples > 200 } == true
                    }
                    let result = try await cutoff.stop("walk")
                    let stream = try #require(result.report.streams.first)
                    let epochs = try #require(stream.epochs)
                    #expect(epochs.count == 2)
                    #expect(epochs.map(\.from) == [0, 0], "\(stream)")
                    let lost = stream.gaps.filter { $0.epoch == epochs[0].epoch }
                    let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                        .filter { $0.marker == nil }
                    #expect(samples.count == stream.received)
                    #expect(
                        epochs[0].next >= published || lost.contains { $0.count == 0 }, "nothing is lost in silence")
                    #expect(stream.received + stream.lost == stream.expected)
                    #expect(try await Self.verify(result.directory) == .exited(lost.isEmpty ? 0 : 3))
                }
            }
        }
    }
}
