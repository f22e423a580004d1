import MessageBus
import Messages
import TestSupport
import Testing

/// Sessions of samples that a device pushes over HTTP, with the real programs.
@Suite(.timeLimit(.minutes(3)))
struct PushedSessionTests {
    /// Pushes samples whose values are their numbers.
    /// - Returns: the status and the next expected number.
    private func push(
        _ range: Range<Int>, begun: String = #""epoch":"e","#, oldest: Int? = nil, to publisher: ProgramUnderTest
    ) async throws -> (status: String, answer: String) {
        let line = try await publisher.line("where to push") { $0.contains("devices push to ") }
        let port = try #require(UInt16(line.split(separator: ":").last?.prefix { $0.isNumber } ?? ""))
        let rows = range.map { "[\(Double($0) / 50),\($0),0,0]" }.joined(separator: ",")
        let first = oldest.map { #"\#(range.lowerBound),"oldest":\#($0)"# } ?? "\(range.lowerBound)"
        let body = #"{"device":"m5","stream":"value",\#(begun)"first":\#(first),"samples":[\#(rows)]}"#
        let request =
            "POST /samples HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let answer = try #require(try await WebClient.answer(request, port: port))
        let status = answer.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        return (status, answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? "")
    }

    /// Waits until the session has this many samples.
    private func recorded(_ samples: Int, over cutoff: Cutoff) async throws {
        try await eventually("\(samples) samples") {
            let status = try await cutoff.recordings.send(RecordingStatus(session: "pushed"), timeout: .seconds(60))
            return status.logs.first?.samples == samples
        }
    }

    /// Begins the session after the samples pushed so far.
    private func begin(over cutoff: Cutoff) async throws {
        // The stop waits for the samples pushed so far: on a busy machine they would otherwise arrive in the session.
        try await cutoff.start(RecordingStart(session: "before", streams: ["m5/"]))
        try await eventually("the stream") {
            let status = RecordingStatus(session: "before")
            return try await cutoff.recordings.send(status, timeout: .seconds(60)).logs.first != nil
        }
        _ = try await cutoff.stop("before")
        try await cutoff.start(RecordingStart(session: "pushed", streams: ["m5/"]))
        // On a busy machine the recorder may not have heard of the stream yet: the log begins with the stream's position at that
        // time.
        try await recorded(0, over: cutoff)
    }

    /// The device's numbers continue, but the publisher does not know the earlier ones: they are not a loss.
    @Test func aDeviceWithoutAnEpochGoesOnAfterAKill() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder { _ in
                let arguments = ["--listen-http", "0"]
                try await cutoff.publisher(arguments) { publisher in
                    #expect(try await push(0..<50, begun: "", to: publisher).answer == #"{"next":50}"#)
                    try await begin(over: cutoff)
                    #expect(try await push(50..<100, begun: "", to: publisher).answer == #"{"next":100}"#)
                    try await recorded(50, over: cutoff)
                    try await cutoff.kill(publisher)
                }
                try await cutoff.publisher(arguments) { publisher in
                    #expect(try await push(100..<150, begun: "", to: publisher).answer == #"{"next":150}"#)
                    try await recorded(100, over: cutoff)
                    let result = try await cutoff.stop("pushed")
                    let stream = try #require(result.report.streams.first)
                    #expect(stream.epochs?.count == 2)
                    #expect(stream.lost == 0)
                    let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                        .filter { $0.marker == nil }
                    #expect(samples.map { $0.x } == (50..<150).map(Double.init))
                }
            }
        }
    }

    @Test func aDeviceThatSendsAgainAfterAKillHasEachSampleRecordedOnce() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.recorder { _ in
                let arguments = ["--listen-http", "0"]
                try await cutoff.publisher(arguments) { publisher in
                    #expect(try await push(0..<50, oldest: 0, to: publisher).answer == #"{"next":50}"#)
                    try await begin(over: cutoff)
                    #expect(try await push(50..<100, oldest: 0, to: publisher).answer == #"{"next":100}"#)
                    try await recorded(50, over: cutoff)
                    try await cutoff.kill(publisher)
                }
                try await cutoff.publisher(arguments) { publisher in
                    let ahead = try await push(100..<110, oldest: 60, to: publisher)
                    #expect(ahead.status == "409")
                    #expect(ahead.answer.contains(#""next":60"#))
                    #expect(try await push(60..<110, oldest: 60, to: publisher).answer == #"{"next":110}"#)
                    // Samples that the device no longer has are lost. A recorder that requested them together with later ones
                    // would get the error that they are not retained.
                    try await recorded(60, over: cutoff)
                    #expect(try await push(120..<130, oldest: 120, to: publisher).answer == #"{"next":130}"#)
                    let result = try await cutoff.stop("pushed")
                    let stream = try #require(result.report.streams.first)
                    #expect(stream.epochs?.count == 1, "the epoch is the device's")
                    #expect(stream.gaps.map(\.reason) == [.notInSource])
                    #expect(stream.gaps.map(\.from) == [110])
                    #expect(stream.gaps.map(\.count) == [10])
                    let samples = try cutoff.records(of: #require(result.logs.first), in: result)
                        .filter { $0.marker == nil }
                    #expect(samples.map { $0.x } == (Array(50..<110) + Array(120..<130)).map(Double.init))
                    let end = try await ProgramUnderTest.run("recorder", arguments: ["verify", result.directory]) {
                        try await $0.end()
                    }
                    #expect(end == .exited(3))
                }
            }
        }
    }
}
