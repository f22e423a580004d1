import Messages
import PublisherCore
import SampleSources
import ServiceKit
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// The whole service over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct SensorPublisherServiceTests {
    private let phone = StreamName(device: "phone", stream: "accelerometer")

    @Test func aStreamSaysWhatItIs() async throws {
        try await PublisherUnderTest.run(["signal": "walk:cadence=2", "rate": "1000", "batch": "10"]) { publisher in
            let listed = try #require(try await publisher.stream("phone/accelerometer"))
            #expect(listed.source == "sensor-publisher")
            #expect(listed.state == .running)
            #expect(listed.fields == ["uptime", "x", "y", "z"])
            #expect(listed.unit == "g")
            #expect(listed.rate == 1000)
            #expect(!listed.packed)
            #expect(listed.origin == .simulated)
            #expect(listed.replay == publisher.replyEndpoint)
            #expect(listed.truth?.cadence == 2)
            #expect(listed.description?.hasPrefix("walk:cadence=2.0") == true)

            let listener = try await publisher.listener()
            let first = try await listener.batches { _ in true }.description
            let second = try await listener.batches { _ in true }.description
            #expect(second.sequence == first.sequence + 1, "descriptions are counted")
            #expect(second.epoch == listed.epoch)
            #expect(second.nextSequence > first.nextSequence)
            // The walk's steps match the published samples.
            let walk = try WalkSignal(cadence: 2)
            #expect(second.truth?.steps == walk.trueStepCount(until: Double(second.nextSequence - 1) / 1000))
        }
    }

    @Test(arguments: [false, true]) func batchesHoldTheSourcesSamplesAtTheirTimes(isPacked: Bool) async throws {
        let flags = [
            "signal": "sine:amplitude=2,phase=0.2,offset=0.5", "rate": "1000", "batch": "7", "packed": "\(isPacked)",
            "start-stopped": "true",
        ]
        try await PublisherUnderTest.run(flags) { publisher in
            let listener = try await publisher.listener()
            #expect(try await publisher.ask(StreamsStart(stream: phone)).state == .running)
            var source = try SignalSource(
                try SignalSpecification.signal("sine:amplitude=2,phase=0.2,offset=0.5"), rate: 1000)
            var start: Int64?
            for index in 0..<10 {
                let heard = try await listener.nextBatch()
                #expect(heard.isPacked == isPacked)
                #expect(heard.batch.values == nil || !isPacked)
                #expect(heard.batch.sequence == index * 7)
                #expect(heard.batch.count == 7)
                #expect(heard.rows.count == 7)
                #expect(heard.batch.fields == ["uptime", "x", "y", "z"])
                #expect(heard.batch.clock.uptime >= heard.rows[6][0], "a batch leaves when its last sample was taken")
                for (row, sample) in zip(heard.rows, try source.samples(7)) {
                    let begin = try start ?? #require(Nanoseconds.from(seconds: row[0]))
                    start = begin
                    #expect(begin % 1000 == 0)
                    #expect(row == [Nanoseconds.seconds(begin + sample.time)] + sample.values)
                }
            }
        }
    }

    @Test func whatCannotBeStartedOrStoppedIsRefused() async throws {
        try await PublisherUnderTest.run(["signal": "sine"]) { publisher in
            let again = try await publisher.refusal(of: StreamsStart(stream: phone))
            #expect(again?.data?.reason == "alreadyRunning")
            _ = try await publisher.ask(StreamsStop(stream: phone))
            let idle = try await publisher.refusal(of: StreamsStop(stream: phone))
            #expect(idle?.data?.reason == "notRunning")
            let stranger = StreamName(device: "left-wrist", stream: "gyro")
            for refusal in [
                try await publisher.refusal(of: StreamsStart(stream: stranger)),
                try await publisher.refusal(of: StreamsStop(stream: stranger)),
            ] {
                #expect(refusal?.data?.reason == "unknownStream")
                #expect(refusal?.message == "there is no stream left-wrist/gyro; the streams are phone/accelerometer")
            }
        }
    }

    @Test(arguments: [false, true]) func whatWasPublishedCanBeHadAgain(isPacked: Bool) async throws {
        let flags = [
            "signal": "noise", "rate": "1000", "batch": "10", "packed": "\(isPacked)", "start-stopped": "true",
        ]
        try await PublisherUnderTest.run(flags) { publisher in
            let listener = try await publisher.listener()
            _ = try await publisher.ask(StreamsStart(stream: phone))
            var published: [[Double]] = []
            while published.count < 100 { published += try await listener.nextBatch().rows }
            let stopped = try await publisher.ask(StreamsStop(stream: phone))
            published += try await listener.batches { $0.state == .stopped }.batches.flatMap(\.rows)
            try #require(published.count == stopped.nextSequence)

            var request = SamplesReplay(
                device: "phone", stream: "accelerometer", epoch: stopped.epoch, from: 15, count: 42)
            let middle = try await publisher.replay(request)
            #expect(middle.reply == .init(from: 15, count: 42, first: 0, last: published.count - 1))
            #expect(middle.batches.flatMap(\.rows) == Array(published[15..<57]))
            #expect(middle.batches.map(\.batch.sequence) == [15])
            #expect(middle.batches.allSatisfy { $0.isPacked == isPacked })

            request.from = published.count - 1
            #expect(try await publisher.replay(request).batches.flatMap(\.rows) == [try #require(published.last)])
            request.from = published.count
            let beyond = try await publisher.replay(request)
            #expect(beyond.reply.count == 0)
            #expect(beyond.batches.isEmpty)
        }
    }

    @Test func anImpossibleReplayIsRefused() async throws {
        try await PublisherUnderTest.run(["signal": "sine"]) { publisher in
            let epoch = try #require(try await publisher.stream("phone/accelerometer")).epoch
            let good = SamplesReplay(device: "phone", stream: "accelerometer", epoch: epoch, from: 0, count: 1)
            #expect(try await publisher.refusal(of: good) == nil)
            for (change, reason) in [
                ({ $0.epoch = "yesterday" }, "unknownEpoch"), ({ $0.device = "watch" }, "unknownStream"),
                ({ $0.from = -1 }, "invalidParameter"), ({ $0.count = 0 }, "invalidParameter"),
            ] as [((inout SamplesReplay) -> Void, String)] {
                var bad = good
                change(&bad)
                #expect(try await publisher.refusal(of: bad)?.data?.reason == reason)
            }
        }
    }

    @Test func aSourceThatBreaksIsSaidToHaveFailed() async throws {
        let rows = (0..<200).map { "\(Double($0) / 1e6),1,2,\($0 == 150 ? "oops" : "3")" }
        try await withFile("walk.csv", "t,x,y,z\n" + rows.joined(separator: "\n")) { path in
            try await PublisherUnderTest.run(["replay": path]) { publisher in
                var stream = try #require(try await publisher.stream("phone/accelerometer"))
                while stream.state == .running {
                    stream = try #require(try await publisher.stream("phone/accelerometer"))
                }
                #expect(stream.state == .failed)
                #expect(stream.nextSequence == 150)
                #expect(stream.reason?.contains("line 152: z: \"oops\" is not a number") == true)
                let health = publisher.host.health.reply
                #expect(health.status == .degraded)
                #expect(health.reasons.first?.contains("line 152") == true)
            }
        }
    }

    @Test func aFinishedReplayCanBeStartedAgain() async throws {
        try await withFile("walk.csv", "t,x\n0,1\n0.001,2\n0.002,3\n") { path in
            try await PublisherUnderTest.run(["replay": path, "start-stopped": "true"]) { publisher in
                let listener = try await publisher.listener()
                for round in 0..<2 {
                    _ = try await publisher.ask(StreamsStart(stream: phone))
                    let (batches, description) = try await listener.batches {
                        $0.state == .ended && $0.nextSequence > round * 3
                    }
                    #expect(batches.flatMap(\.rows).map { $0[1] } == [1, 2, 3])
                    #expect(description.nextSequence == (round + 1) * 3)
                }
            }
        }
    }

    @Test func healthTellsHowLateSamplesAre() async throws {
        try await PublisherUnderTest.run(["signal": "sine", "rate": "1000"]) { publisher in
            let listener = try await publisher.listener()
            // Measures are published with the descriptions.
            for _ in 0..<2 { _ = try await listener.batches { _ in true } }
            let measures = try #require(publisher.host.health.reply.measures)
            let median = try #require(measures["latenessMedianSeconds"])
            let high = try #require(measures["lateness99PercentSeconds"])
            #expect(median > 0)
            #expect(median <= high)
            #expect(high < 10)
            #expect(try #require(measures["samplesPublished"]) > 0)
            try await eventually("the connection to be counted") {
                publisher.host.health.reply.measures?["connectionsAccepted"] == 1
            }
            // On a busy machine, the stream may be behind its schedule for a moment.
            try await eventually("health to be well") { publisher.host.health.reply.status == .ok }
        }
    }

    @Test func aSourceThatIsNotThereIsABadConfiguration() async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await PublisherUnderTest.run(["replay": "/nowhere/walk.csv"]) { _ in }
        }
        #expect(error?.status == .badConfiguration)
        #expect(error?.message.hasPrefix("/nowhere/walk.csv: cannot be opened") == true)
    }
}
