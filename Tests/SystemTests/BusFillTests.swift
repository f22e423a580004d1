import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// A session that was stopped while its publisher did not answer is filled from the publisher later, with the real programs.
@Suite(.timeLimit(.minutes(3)))
struct BusFillTests {
    private static let noise = [
        "--signal", "noise:seed=1", "--rate", "500", "--batch", "5", "--device", "phone", "--stream", "noise",
    ]

    private func run(_ arguments: [String], in directory: FilePath) async throws -> (end: ProgramEnd, output: String) {
        try await ProgramUnderTest.run(
            executable: ProductsDirectory.executable("recorder"), arguments: arguments, in: directory
        ) { run in
            let end = try await run.end(within: .seconds(60))
            return (end, run.standardOutput + run.standardError)
        }
    }

    /// The samples that the publisher keeps of a run, from a number on.
    private func samples(of epoch: String, from first: Int, _ cutoff: Cutoff) async throws -> [[Double]] {
        var rows: [[Double]] = []
        while true {
            let request = SamplesReplay(
                device: "phone", stream: "noise", epoch: epoch, from: first + rows.count, count: 100_000)
            let (reply, frames) = try await cutoff.streams.sendForFrames(request, timeout: .seconds(60))
            guard reply.count > 0 else { return rows }
            for frame in frames { rows += try WireCoding.decode(SampleBatch.self, from: frame).values ?? [] }
        }
    }

    @Test func aSessionThatWasStoppedWithoutItsPublisherIsMadeWholeFromIt() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { publisher in
                func description() async throws -> StreamDescription {
                    try #require(
                        try await cutoff.streams.send(StreamsList(), timeout: .seconds(60)).streams.first)
                }
                try await cutoff.recorder { recorder in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(200, in: "walk")
                    try await cutoff.kill(recorder)
                }
                // These are sampled while no recorder runs.
                let before = try await description().nextSequence
                try await eventually("samples without a recorder") {
                    try await description().nextSequence > before + 300
                }
                try publisher.send(.stop)
                let result = try await cutoff.recorder { recorder in
                    let result = try await cutoff.stop("walk")
                    try recorder.send(.terminate)
                    _ = try await recorder.end()
                    return result
                }
                let gap = try #require(result.report.streams.first?.gaps.first)
                #expect(gap.count == 0 && gap.reason == .publisherUnreachable)
                try publisher.send(.resume)
                try await eventually("a sample from after the session", within: .seconds(60)) {
                    let now = try await description()
                    guard let last = now.lastSample else { return false }
                    let date = now.clock.date.adding(Int64((last - now.clock.uptime) * 1e9))
                    return date > result.report.endDate.adding(100_000_000)
                }
                let data = cutoff.directory
                let lossy = try await run(["verify", result.directory], in: data)
                #expect(lossy.end == .exited(3), "\(lossy)")
                let options = [result.directory, "--from", cutoff.publisherEndpoint.reply]
                let both = try await run(["fill", result.directory, "export.zip"] + options.dropFirst(), in: data)
                #expect(both.end == .exited(64) && both.output.contains("not both"), "\(both)")
                let neither = try await run(["fill", result.directory], in: data)
                #expect(neither.end == .exited(64) && neither.output.contains("--from"), "\(neither)")
                let unanswered = try await run(
                    ["fill", result.directory, "--from", cutoff.recorderEndpoint.reply], in: data)
                #expect(unanswered.end == .exited(1), "\(unanswered)")
                #expect(
                    unanswered.output.contains("\(cutoff.recorderEndpoint.reply) did not answer"), "\(unanswered)")
                let dry = try await run(["fill"] + options + ["--dry-run"], in: data)
                #expect(dry.end == .exited(0) && dry.output.contains("would fill"), "\(dry)")
                let filled = try await run(["fill"] + options, in: data)
                #expect(filled.end == .exited(0) && filled.output.contains("no gap is left"), "\(filled)")
                let again = try await run(["fill"] + options, in: data)
                #expect(again.end == .exited(0) && again.output.contains("it has no gaps"), "\(again)")
                let whole = try await run(["verify", result.directory], in: data)
                #expect(whole.end == .exited(0), "\(whole)")
                #expect(whole.output.contains("filled in from \(cutoff.publisherEndpoint.reply)"), "\(whole)")

                let exported = try await run(
                    [
                        "export", result.directory, "--to", data.appending("csv").string, "--format", "csv", "--clock",
                        "own",
                    ], in: data)
                #expect(exported.end == .exited(0), "\(exported)")
                let text = try String(
                    contentsOfFile: data.appending("csv/walk/phone_noise.csv").string, encoding: .utf8)
                let rows = text.split(separator: "\n").dropFirst().map { line in
                    line.split(separator: ",").map { Double($0) ?? .nan }
                }
                let span = try #require(result.report.streams.first?.epochs?.first)
                let truth = try await samples(of: span.epoch, from: span.from, cutoff)
                #expect(rows.count > span.next - span.from + 300 && rows.count < truth.count)
                let fields = try #require(truth.first?.count) - 1
                #expect(rows.map { Array($0.suffix(fields)) } == truth.prefix(rows.count).map { Array($0.dropFirst()) })
                // Up to the session's end and no further.
                let clock = try await description().clock
                let dates = truth[(rows.count - 1)...rows.count].map { row in
                    clock.date.adding(Int64((row[0] - clock.uptime) * 1e9)).seconds(since: result.report.endDate)
                }
                #expect(dates[0] < 0.1 && dates[1] > -0.1, "\(dates)")
            }
        }
    }
}
