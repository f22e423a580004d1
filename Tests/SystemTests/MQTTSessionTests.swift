import Messages
import MessageBus
import TestSupport
import Testing

/// Sessions of samples that arrive through a real broker; both broker and publisher are killed.
@Suite(.timeLimit(.minutes(4)), .enabled(if: Mosquitto.isInstalled, Mosquitto.isMissing))
struct MQTTSessionTests {
    private static let topic = "holdfast/samples"

    private func message(_ range: Range<Int>) -> String {
        let rows = range.map { "[\(Double($0) / 50),\($0),0,0]" }.joined(separator: ",")
        return
            #"{"device":"m5","stream":"value","epoch":"e","first":\#(range.lowerBound),"samples":[\#(rows)]}"#
    }

    /// Sends samples whose values are their numbers, ten in a message, each with the four seconds before them: broker and
    /// publisher may lose what they acknowledged before a kill.
    private func send(_ range: Range<Int>, from device: MQTTDevice) async throws {
        for first in stride(from: range.lowerBound, to: range.upperBound, by: 10) {
            try await device.send(
                message(max(0, first - 200)..<first + 10), all: message(max(0, first - 300)..<first + 10))
        }
    }

    /// Waits until the session has at least this many samples.
    private func recorded(_ samples: Int, over cutoff: Cutoff) async throws {
        var last: RecordingState?
        do {
            try await eventually("\(samples) samples") {
                last = try await cutoff.recordings.send(RecordingStatus(session: "mqtt"), timeout: .seconds(60))
                return last?.logs.first?.samples ?? 0 >= samples
            }
        } catch let failure as TestFailure {
            throw TestFailure("\(failure), but \(String(describing: last))")
        }
    }

    @Test func afterKillsOfBrokerAndPublisherEachSampleIsRecordedOnce() async throws {
        try await Cutoff.run { cutoff in
            let port = try FreePort.next()
            let device = MQTTDevice(port: port, topic: Self.topic)
            let arguments = ["--mqtt", "mqtt://127.0.0.1:\(port)", "--topic", "holdfast/#"]
            try await cutoff.recorder { _ in
                try await Mosquitto.run(port: port, in: cutoff.directory) { broker in
                    try await cutoff.publisher(arguments) { publisher in
                        // The session begins when the stream is known.
                        try await eventually("a stream") {
                            try await device.send(message(0..<1), all: message(0..<1))
                            return try await !cutoff.streams.send(StreamsList(), timeout: .seconds(60)).streams.isEmpty
                        }
                        // The device's times continue from its first message: on a busy machine they precede the session's start.
                        try await cutoff.start(RecordingStart(session: "mqtt", streams: ["m5/"], before: 100))
                        try await eventually("the stream in the session") {
                            let status = RecordingStatus(session: "mqtt")
                            return try await cutoff.recordings.send(status, timeout: .seconds(60)).logs.first != nil
                        }
                        try await send(0..<100, from: device)
                        try await recorded(99, over: cutoff)
                        try await cutoff.kill(publisher)
                    }
                    // The broker keeps messages while no publisher is connected.
                    try await send(100..<200, from: device)
                    // The publisher is killed amid the messages that the broker kept.
                    try await cutoff.publisher(arguments) { publisher in
                        try await send(200..<230, from: device)
                        try await cutoff.kill(publisher)
                    }
                    try await cutoff.kill(broker)
                }
                try await Mosquitto.run(port: port, in: cutoff.directory) { broker in
                    try await cutoff.publisher(arguments) { publisher in
                        try await send(230..<300, from: device)
                        // The broker is killed while the publisher runs, which reconnects.
                        try await cutoff.kill(broker)
                        try await Mosquitto.run(port: port, in: cutoff.directory) { _ in
                            try await send(300..<350, from: device)
                            // What a killed broker had acknowledged and lost is repeated by later messages.
                            let before = try await cutoff.recordings.send(
                                RecordingStatus(session: "mqtt"), timeout: .seconds(60)
                            ).logs.first?.samples
                            #expect(before != nil)
                            try await eventually("all samples") {
                                try await send(340..<350, from: device)
                                let streams = try await cutoff.streams.send(StreamsList(), timeout: .seconds(60))
                                    .streams
                                return streams.first?.nextSequence == 350
                            }
                            let result = try await cutoff.stop("mqtt")
                            let stream = try #require(result.report.streams.first)
                            #expect(stream.epochs?.count == 1, "the epoch is the device's")
                            #expect(stream.gaps.isEmpty)
                            let values = try cutoff.records(of: #require(result.logs.first), in: result)
                                .filter { $0.marker == nil }.compactMap(\.x)
                            let first = try #require(values.first)
                            #expect(values == (Int(first)..<350).map(Double.init))
                            #expect(first <= 1)
                            let end = try await ProgramUnderTest.run(
                                "recorder", arguments: ["verify", result.directory]
                            ) { try await $0.end() }
                            #expect(end == .exited(0))
                        }
                    }
                }
            }
        }
    }
}
