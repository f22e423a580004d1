import Messages
import Recording
import ServiceKit
import TestSupport
import Testing
import ZeroMQ

/// Sessions that begin before they are requested.
@Suite(.timeLimit(.minutes(1)))
struct PastTests {
    private static func sample(_ publisher: FakePublisher, seconds: Double) throws {
        let now = Double(MonotonicClock.now) / 1e9
        let count = Int(seconds * 10)
        for index in 0..<count {
            try publisher.sample(isLost: true, uptime: now - Double(count - index) / 10 + 0.05)
        }
    }

    private static func start(_ recorder: RecorderUnderTest, _ publisher: FakePublisher, before: Double) async throws {
        let request = RecordingStart(session: "s", streams: [publisher.name.description], before: before)
        _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
    }

    @Test(arguments: [nil, 10.0])
    func everySampleOfThePastIsThere(rate: Double?) async throws {
        let publisher = try await FakePublisher()
        publisher.set { $0.rate = rate }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try Self.sample(publisher, seconds: 300)
            try await Self.start(recorder, publisher, before: 30)
            try publisher.sample(3)
            let result = try await recorder.stop()
            #expect(result.report.isWhole, "\(result.report)")
            let sequences = try await recorder.records().sequences
            let first = try #require(sequences.first)
            #expect(first > 2_500, "what is older was left out")
            #expect(sequences == Array(first..<publisher.next))
            let samples = try await recorder.records().filter { $0.marker == nil }
            let earliest = try #require(samples.first).timestamp
            // If a description arrives late, the session begins earlier by that delay.
            #expect((-20...0.1).contains(earliest), "from the first sample after the session's start on")
            let session = try recorder.directory()
            #expect(session.verify().findings == [])
            #expect(try session.record().limits.before == 30)
        }
    }

    @Test func whatIsNotKeptAnyMoreIsAGapAtTheStart() async throws {
        let publisher = try await FakePublisher()
        publisher.set { ($0.rate, $0.retention) = (10, 50) }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try Self.sample(publisher, seconds: 60)
            try await Self.start(recorder, publisher, before: 20)
            try await recorder.describing([publisher]) { try await recorder.has(50, of: publisher) }
            let result = try await recorder.stop()
            let gaps = try #require(result.report.streams.first).gaps
            #expect(gaps.map(\.reason) == [.notRetained])
            let gap = try #require(gaps.first)
            #expect(gap.from + gap.count == 550, "the first that is kept")
            // 150 without delays: a late session begins later, and one with a late description earlier.
            #expect((20...450).contains(gap.count), "not what was before the session")
            #expect(try await recorder.records().sequences == Array(550..<600))
            #expect(try recorder.directory().verify().verdict == .loss)
        }
    }

    @Test func anEarlierRunOfThePublisherIsAGap() async throws {
        let publisher = try await FakePublisher()
        publisher.set { $0.rate = 10 }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try Self.sample(publisher, seconds: 5)
            let former = publisher.epoch
            // The recorder has received that run's description.
            try await Self.start(recorder, publisher, before: 60)
            _ = try await recorder.send(RecordingCancel(session: "s"))
            publisher.restart()
            try Self.sample(publisher, seconds: 2)
            let request = RecordingStart(session: "late", streams: [publisher.name.description], before: 30)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            try await recorder.describing([publisher]) { try await recorder.has(20, of: publisher, session: "late") }
            _ = try await recorder.describing([publisher]) {
                try await recorder.events.recording(.gap, of: "late")
            }
            try publisher.sample(2)
            let result = try await recorder.stop("late")
            let gaps = try #require(result.report.streams.first).gaps
            #expect(gaps.map(\.epoch) == [former])
            #expect(gaps.map(\.reason) == [.epochEnded])
            let samples = try await recorder.records("late").filter { $0.marker == nil }
            #expect(samples.map(\.x) == (0..<22).map { Double($0) })
            #expect(Set(samples.map(\.y)) == [1])
            #expect(try recorder.directory("late").verify().verdict == .loss)
        }
    }

    @Test func whatAPublisherForgetsWhileItIsFetchedIsAGap() async throws {
        let publisher = try await FakePublisher()
        publisher.set { $0.rate = 10 }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try Self.sample(publisher, seconds: 5)
            let former = publisher.epoch
            let gate = publisher.gateReplays()
            try await Self.start(recorder, publisher, before: 30)
            // Some of these wait, and some before them are lost too.
            try publisher.sample(3, isLost: true)
            try publisher.sample(4)
            // The subscription may arrive later than the first of these.
            try await eventually("samples that wait") {
                try publisher.publish(publisher.next - 4..<publisher.next)
                return await recorder.metric("held_batches") ?? 0 > 0
            }
            publisher.restart()
            gate.open()
            try publisher.sample(3)
            try await recorder.describing([publisher]) { try await recorder.has(7, of: publisher) }
            let result = try await recorder.stop()
            let stream = try #require(result.report.streams.first)
            let lost = stream.gaps.map { [$0.from, $0.count] }
            #expect(lost == [[0, 50], [50, 3]] || lost == [[0, 53]], "\(lost)")
            #expect(Set(stream.gaps.map(\.epoch)) == [former])
            #expect(stream.epochs?.map(\.from) == [0, 0])
            #expect(try recorder.directory().verify().verdict == .loss)
        }
    }

    @Test func aSessionMayBeginAtADate() async throws {
        let publisher = try await FakePublisher()
        publisher.set { $0.rate = 10 }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try Self.sample(publisher, seconds: 60)
            // Dates on the wire have microseconds.
            let date = WallTime(nanosecondsSince1970: (WallTime.now.nanosecondsSince1970 / 1_000 - 20_000_000) * 1_000)
            let request = RecordingStart(session: "s", streams: [publisher.name.description], from: date)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            let result = try await recorder.stop()
            #expect(result.report.startDate == date)
            #expect(result.report.isWhole)
            let samples = try await recorder.records().filter { $0.marker == nil }
            #expect(samples.count >= 199, "twenty seconds, and what passed until it was started")
            let refusal = try await recorder.refusal(
                RecordingStart(session: "t", streams: ["*"], from: WallTime(seconds: 0)))
            #expect(refusal == "invalidParameter")
            let both = try await recorder.refusal(RecordingStart(session: "t", streams: ["*"], before: 1, from: date))
            #expect(both == "invalidParameter")
            // A start in the future becomes now.
            let late = WallTime(nanosecondsSince1970: WallTime.now.nanosecondsSince1970 + 60_000_000_000)
            _ = try await recorder.describing([publisher]) {
                try await recorder.send(RecordingStart(session: "t", streams: [publisher.name.description], from: late))
            }
            #expect(try await recorder.stop("t").report.startDate < late)
        }
    }

    @Test func aSessionWithADurationMayLastLonger() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let request = RecordingStart(
                session: "s", streams: [publisher.name.description], duration: 3_600, before: 10)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            let start = try #require(try await recorder.status().startDate)
            func extended(_ seconds: Int64) async throws -> Double? {
                let until = WallTime(nanosecondsSince1970: start.nanosecondsSince1970 + seconds * 1_000_000_000)
                let state = try await recorder.send(RecordingExtend(session: "s", until: until))
                return (state.configuration?.duration).map { $0.rounded() }
            }
            #expect(try await extended(10) == 3_600, "it never ends earlier")
            #expect(try await extended(7_210) == 7_200)
            #expect(try await extended(5_000) == 7_200)
            _ = try await recorder.stop()
            #expect(
                try await recorder.refusal(RecordingExtend(session: "s", until: start)) == "finished")
        }
    }

    @Test func aTimeThatIsNoneIsRefused() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            for before in [0.0, -1, 86_401] {
                let request = RecordingStart(session: "s", streams: [publisher.name.description], before: before)
                let refusal = try await recorder.refusal(request)
                #expect(refusal == "invalidParameter")
            }
        }
    }
}
