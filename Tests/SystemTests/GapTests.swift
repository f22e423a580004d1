import FoundationEssentials
import MessageBus
import Messages
import TestSupport
import Testing
import ZeroMQ

/// Batches that libzmq really drops: a recorder hangs while its publisher continues.
///
/// Serialized, because each of these keeps a core busy for seconds.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct GapTests {
    /// A second without a reader exceeds the capacity of small queues.
    private static let rate = 10_000
    private static let flood = [
        "--signal", "sine:amplitude=1,angularFrequency=2", "--rate", "\(rate)", "--batch", "10", "--packed", "--device",
        "phone", "--high-water-mark", "10",
    ]

    @Test func droppedBatchesAreRecovered() async throws {
        try await Rig.run(
            publishing: Self.flood, isLocal: true, recording: ["--receive-high-water-mark", "10"]
        ) { rig in
            let result = try await Self.recordAcrossAHang(rig)
            let stream = try #require(result.report.streams.first)
            #expect(result.report.isWhole)
            #expect(stream.recovered > 0)
            #expect(stream.lost == 0)
            #expect(stream.gaps.isEmpty)
            let uptimes = try LogItem.read(rig.onlyFile(of: result)).filter { $0.marker == nil }.map(\.uptime)
            #expect(uptimes.count == stream.received)
            // The samples are on the grid, each once and in order.
            let steps = zip(uptimes, uptimes.dropFirst()).map { ($1 - $0) * Double(Self.rate) }
            #expect(steps.allSatisfy { abs($0 - 1) < 1e-3 })
            try rig.recorder.send(.terminate)
            #expect(try await rig.recorder.end() == .exited(0))
        }
    }

    @Test func whatThePublisherNoLongerHasIsAGapEverywhere() async throws {
        try await Rig.run(
            publishing: Self.flood + ["--retention", "100ms"], isLocal: true,
            recording: ["--receive-high-water-mark", "10"]
        ) { rig in
            let events = try Subscriber(context: rig.context, thread: rig.thread)
            try await events.subscribe(to: TopicArea.recording)
            try await events.connect(to: rig.recorderReady.publish)

            let result = try await Self.recordAcrossAHang(rig)
            let stream = try #require(result.report.streams.first)
            #expect(!result.report.isWhole)
            #expect(stream.lost > 0)
            #expect(stream.expected == stream.received + stream.lost)
            #expect(stream.gaps.allSatisfy { $0.reason == .notRetained })

            // The gap's marker is in the log between the samples.
            let records = try LogItem.read(rig.onlyFile(of: result))
            let marked = records.filter { $0.marker == "gap" }
            #expect(marked.map(\.from) == stream.gaps.map(\.from))
            #expect(marked.compactMap(\.count).reduce(0, +) == stream.lost)
            let samples = records.filter { $0.marker == nil }
            #expect(samples.count == stream.received)
            // The distance between two samples matches the gaps between them.
            var last: Double?
            var missing = 0
            for record in records {
                missing += record.marker == "gap" ? record.count ?? 0 : 0
                guard record.marker == nil else { continue }
                if let last { #expect(abs((record.uptime - last) * Double(Self.rate) - Double(missing + 1)) < 1e-2) }
                last = record.uptime
                missing = 0
            }

            // The loss is in the report on disk, in an event, and in the exit code.
            let report = try WireCoding.decode(
                SessionReport.self, from: Data(contentsOf: URL(filePath: "\(result.directory)/report.json")))
            #expect(report == result.report)
            var announced: [Gap] = []
            while announced.count < stream.gaps.count {
                let batch = try await events.next()
                try batch.withUnsafeMessages { messages in
                    for message in 0..<messages.count {
                        let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                        if event.change == .gap, let gap = event.gap { announced.append(gap) }
                    }
                }
            }
            #expect(announced == stream.gaps)
            try rig.recorder.send(.terminate)
            #expect(try await rig.recorder.end() == .exited(3))
        }
    }

    /// Records, and suspends the recorder's process until the queues overflow.
    private static func recordAcrossAHang(_ rig: Rig) async throws -> RecordingResult {
        try await rig.start(RecordingStart(session: "hang", streams: ["phone/"]))
        // On a busy machine the publisher may describe its stream late: then the log opens a little later.
        try await eventually("the first samples") { try await log(of: rig)?.samples ?? 0 > 1_000 }
        let before = try await published(rig)
        try rig.recorder.send(.stop)
        // The kernel's buffers for such a socket hold half a second of samples.
        try await eventually("30,000 samples while the recorder hangs", within: .seconds(60)) {
            try await published(rig) > before + 30_000
        }
        try rig.recorder.send(.resume)
        try await eventually("the hang is noticed", within: .seconds(60)) {
            let log = try #require(try await log(of: rig))
            return log.recovered > 0 || log.gaps > 0
        }
        return try await rig.stop("hang")
    }

    private static func published(_ rig: Rig) async throws -> Int {
        try await rig.streams.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0
    }

    private static func log(of rig: Rig) async throws -> LogSummary? {
        try await rig.recordings.send(RecordingStatus(session: "hang"), timeout: .seconds(60)).logs.first
    }
}
