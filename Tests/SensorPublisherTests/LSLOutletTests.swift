import MessageBus
import Messages
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A sensor publisher with outlets of liblsl itself, through pylsl. Each outlet has a unique name, because all processes on the
/// machine can discover it.
@Suite(.timeLimit(.minutes(3)))
struct LSLOutletTests {
    private static let script = FilePath(#filePath).removingLastComponent().appending("Outlets/outlet.py")

    /// Runs an outlet while a closure runs.
    private static func outlet(
        _ name: String, source: String? = nil, format: String = "float32", channels: Int = 3, rate: Double = 100,
        first: Int = 0, count: Int, _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        let arguments = [
            script.string, name, source ?? name, format, "\(channels)", "\(rate)", "\(first)", "\(count)",
        ]
        try await ProgramUnderTest.run(executable: Readers.python, arguments: arguments) { outlet in
            _ = try await outlet.line("an outlet that is ready") { $0 == "ready" }
            try await body(outlet)
        }
    }

    private static func name(_ test: String) -> String { "\(test)-\(MonotonicClock.now)" }

    private static func flags(_ name: String, _ more: [String: String] = [:]) -> [String: String] {
        ["lsl": "name='\(name)'", "device": "lab", "stream": "glove", "lsl-host": "127.0.0.1"].merging(more) { $1 }
    }

    /// Expects the samples of these numbers in some batches, with the values that the outlet gave them.
    private static func expect(_ batches: [HeardBatch], are sequences: Range<Int>, numbered first: Int, channels: Int) {
        var next = sequences.lowerBound
        var wrong = 0
        for batch in batches {
            #expect(batch.batch.sequence == next)
            for row in batch.rows {
                let number = first + next - sequences.lowerBound
                let isRight =
                    row.count == channels + 1
                    && (0..<channels).allSatisfy { row[1 + $0] == Double(number * channels + $0) }

                if !isRight { wrong += 1 }
                next += 1
            }
        }
        #expect(next == sequences.upperBound)
        #expect(wrong == 0)
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"))
    func everySampleOf64ChannelsAtAKilohertzIsPublishedOnce() async throws {
        let name = Self.name("wide")
        let count = 5_000
        try await Self.outlet(name, channels: 64, rate: 1_000, count: count) { outlet in
            try await PublisherUnderTest.run(Self.flags(name, ["packed": "true"])) { publisher in
                let listener = try await publisher.listener()
                let (batches, last) = try await listener.batches { $0.nextSequence == count }
                Self.expect(batches, are: 0..<count, numbered: 0, channels: 64)
                #expect(last.fields == ["uptime"] + (0..<64).map { "c\($0)" })
                #expect(last.rate == 1_000)
                #expect(last.unit == "m/s2")
                #expect(last.origin == .measured)
                #expect(last.state == .running)
                #expect(last.description?.contains("<maker>A &amp; B</maker>") == true)
                #expect(last.description?.contains("gaps are estimated") == true)
                // The outlet's clock is this machine's: the measured offset is half the difference of the two travel times, so at
                // most half of their sum.
                let clock = try #require(last.remoteClock)
                #expect(abs(clock.offset) <= clock.roundTrip / 2 + 1e-6)
                let first = try #require(batches.first?.rows.first?.first)
                #expect(first < last.clock.uptime)
                #expect(last.clock.uptime - first < 120)
            }
        }
    }

    @Test(
        .enabled(if: Readers.areInstalled, "\(Readers.need)"),
        arguments: ["int8", "int16", "int32", "int64", "double64", "string"])
    func valuesOfEachFormatArriveAsTheyAre(format: String) async throws {
        let name = Self.name(format)
        try await Self.outlet(name, format: format, channels: 2, rate: format == "string" ? 0 : 100, count: 20) { _ in
            try await PublisherUnderTest.run(Self.flags(name, ["batch": "1"])) { publisher in
                try await eventually("20 samples") { try await publisher.stream("lab/glove")?.nextSequence == 20 }
                let stream = try #require(try await publisher.stream("lab/glove"))
                let types: [FieldType]? = ["string": [.number, .text, .text], "int64": [.number, .number, .number]][
                    format]
                #expect(stream.types == types)
                #expect(stream.rate == (format == "string" ? nil : 100))
                let bodies = try await publisher.bodies(
                    SamplesReplay(device: "lab", stream: "glove", epoch: stream.epoch, from: 0, count: 20))
                let text = bodies.map { String(decoding: $0, as: UTF8.self) }.joined()
                for number in 0..<20 {
                    let values = (0..<2).map { channel in
                        switch format {
                        case "string": "\"\(number) \\\"ä\\\" \\\\ \(channel)\""
                        case "int64": "\(1 << 60 + number * 2 + channel)"
                        case "double64": "\(number * 2 + channel).1"
                        default: "\(number * 2 + channel)"
                        }
                    }
                    #expect(text.contains(",\(values.joined(separator: ","))]"), "\(values) in \(text.suffix(200))")
                }
            }
        }
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"))
    func anOutletThatComesBackContinuesItsStreamAfterAGap() async throws {
        let name = Self.name("back")
        let source = "source-\(name)"
        try await PublisherUnderTest.run(Self.flags(name, ["batch": "1"])) { publisher in
            try await eventually("an outlet that is not there") {
                publisher.host.health.reply.reasons.contains { $0.contains("no LSL outlet matches name=") }
            }
            var epoch = ""
            try await Self.outlet(name, source: source, count: 50) { outlet in
                try await eventually("50 samples") { try await publisher.stream("lab/glove")?.nextSequence == 50 }
                epoch = try #require(try await publisher.stream("lab/glove")).epoch
            }
            try await eventually("an outlet that is gone") { try await publisher.stream("lab/glove")?.state == .failed }
            // Another outlet of the same name is a different source.
            try await Self.outlet(name, source: "other", channels: 3, first: 900, count: 0) { _ in
                try await eventually("its source_id is missed") {
                    try await publisher.stream("lab/glove")?.reason?.contains("with source_id='\(source)'") == true
                }
            }
            let listener = try await publisher.listener()
            try await Self.outlet(name, source: source, first: 70, count: 30) { _ in
                var batches: [HeardBatch] = []
                while batches.count < 30 { batches.append(try await listener.nextBatch()) }
                let next = try #require(batches.first?.batch.sequence)
                #expect(next > 50)
                Self.expect(batches, are: next..<next + 30, numbered: 70, channels: 3)
                let now = try #require(try await publisher.stream("lab/glove"))
                #expect(now.state == .running)
                #expect(now.epoch == epoch)
                let lost = try await publisher.refusal(
                    of: SamplesReplay(device: "lab", stream: "glove", epoch: epoch, from: 50, count: next - 50))
                #expect(lost?.data?.reason == "estimated")
                let (_, kept) = try await publisher.replay(
                    SamplesReplay(device: "lab", stream: "glove", epoch: epoch, from: 0, count: 50))
                Self.expect(kept, are: 0..<50, numbered: 0, channels: 3)
            }
        }
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"))
    func severalOutletsAreNamed() async throws {
        let name = Self.name("twins")
        try await Self.outlet(name, source: "left", count: 0) { _ in
            try await Self.outlet(name, source: "right", count: 0) { _ in
                try await PublisherUnderTest.run(Self.flags(name)) { publisher in
                    try await eventually("a choice") {
                        publisher.host.health.reply.reasons.contains {
                            $0.contains("source_id='left'") && $0.contains("source_id='right'")
                        }
                    }
                }
                let only = ["lsl": "name='\(name)' and source_id='right'"]
                try await PublisherUnderTest.run(Self.flags(name, only)) { publisher in
                    try await eventually("the right one") {
                        try await publisher.stream("lab/glove")?.description?.contains("source_id right") == true
                    }
                }
            }
        }
    }
}
