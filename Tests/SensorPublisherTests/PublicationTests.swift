import Glibc
import Messages
import PublisherCore
import SampleSources
import ServiceKit
import TestSupport
import Testing

/// The decisions of a sensor publisher, in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct PublicationTests {
    private let phone = StreamName(device: "phone", stream: "accelerometer")
    private let second: Int64 = 1_000_000_000

    private func publisher(
        _ signals: [String] = ["sine"], rate: Double = 100, batch: Int? = nil, isPacked: Bool = false,
        retention: Int64 = 600_000_000_000, retentionBytes: Int = 1 << 28, startsStopped: Bool = false
    ) throws -> VirtualPublisher {
        let streams = try signals.enumerated().map { index, signal in
            try StreamConfiguration(
                device: index == 0 ? "phone" : "device\(index)", stream: "accelerometer", source: .signal(signal),
                rate: rate, batch: batch, isPacked: isPacked)
        }
        let publisher = try VirtualPublisher(
            streams, sources: streams.map { try $0.openSource() }, retention: retention,
            retentionBytes: retentionBytes, startsStopped: startsStopped)
        publisher.begin()
        return publisher
    }

    private func request(_ from: Int, _ count: Int, device: String = "phone", epoch: String = "one") -> SamplesReplay {
        SamplesReplay(device: device, stream: "accelerometer", epoch: epoch, from: from, count: count)
    }

    @Test func thousandsOfStreamsShareTheirWakeUpsAndNoneIsLate() throws {
        let publisher = try publisher(Array(repeating: "sine", count: 2_000), batch: 10)
        publisher.run(seconds: 2)
        #expect(publisher.core.samplesPublished == 2_000 * 200)
        #expect(publisher.core.lateness.maximum <= Publication.shortestPause)
        for stream in publisher.heard {
            #expect(stream.batches.map(\.firstSequence) == (0..<20).map { $0 * 10 })
            #expect((2...3).contains(stream.descriptions.count), "one at the start, and one each second")
        }
    }

    /// Our requirement, in virtual time: a sample is published as soon as it is due.
    @Test func case47ElevenPointsAreFiredAtTheirTimes() throws {
        let configuration = try StreamConfiguration(
            device: "phone", stream: "accelerometer", source: .points("points.json"), batch: 1)
        let points = (0...10).map { Point(timestamp: Double($0) / 10, value: Double($0)) }
        let publisher = try VirtualPublisher(
            [configuration], sources: [PointsSource(fields: ["value"], points: points)])
        let start = publisher.now.monotonic
        publisher.begin()
        publisher.run(seconds: 2)
        #expect(publisher.published.count == 11)
        for (index, sample) in publisher.published.enumerated() {
            #expect(abs(sample.at - start - Int64(index) * second / 10) < second / 5)
            #expect(sample.batch.rows.last == Double(index))
        }
        // The completion.
        #expect(publisher.heard[0].descriptions.last?.state == .ended)
    }

    @Test func case48EachValueIsThatOfTheFunctionUntilTheStop() throws {
        let publisher = try publisher(["sine:amplitude=2,angularFrequency=1,phase=0.2,offset=0.5"], rate: 10, batch: 1)
        let start = publisher.now.monotonic
        publisher.run(seconds: 1)
        _ = try publisher.descriptions(publisher.stop(phone))
        let count = publisher.published.count
        #expect((10...11).contains(count))
        for (index, sample) in publisher.published.enumerated() {
            let time = Double(index) / 10
            #expect(sample.batch.rows.suffix(3).allSatisfy { $0 == 2 * sin(time * 1 + 0.2) + 0.5 })
            #expect(abs(sample.at - start - Int64(index) * second / 10) < second / 5)
        }
        #expect(publisher.heard[0].descriptions.last?.state == .stopped)
        publisher.run(seconds: 1)
        #expect(publisher.published.count == count)
    }

    /// A record in a file has all names, so long names make a recorder's work large too.
    @Test func aBatchThatIsTooLargeForAMessageBecomesSeveral() throws {
        let fields = (0..<100).map { "\($0)" + String(repeating: "a", count: 250) }
        let configuration = try StreamConfiguration(
            device: "phone", stream: "accelerometer", source: .points("points.json"), batch: 1_000)
        let points = (0..<1_000).map { number in
            Point(timestamp: 0, values: [Double](repeating: Double(number), count: fields.count))
        }
        let publisher = try VirtualPublisher(
            [configuration], sources: [PointsSource(fields: fields, points: points)])
        publisher.begin()
        publisher.run(seconds: 1)
        let batches = publisher.heard[0].batches
        #expect(batches.allSatisfy { $0.count * fields.count * 250 <= 16 << 20 })
        #expect(zip(batches, batches.dropFirst()).allSatisfy { $0.firstSequence + Int64($0.count) == $1.firstSequence })
        let rows = publisher.heard[0].rows
        #expect(stride(from: 1, to: rows.count, by: 101).map { rows[$0] } == (0..<1_000).map(Double.init))
        let (reply, replayed) = try publisher.replay(request(0, 1_000))
        #expect(reply.count == 1_000)
        #expect(replayed.count == batches.count)
    }

    @Test func aListPublishesWhatWaitsForItsBatch() throws {
        let publisher = try publisher(rate: 500, batch: 100_000)
        publisher.run(seconds: 0.1)
        let listed = try publisher.descriptions(publisher.list())
        #expect(listed.map(\.nextSequence) == [51])
        #expect(publisher.heard[0].batches.map(\.count) == [51])
        publisher.run(seconds: 0.01)
        #expect(try publisher.descriptions(publisher.list()).map(\.nextSequence) == [56])
        #expect(publisher.heard[0].batches.map(\.firstSequence) == [0, 51])
    }

    @Test func aListHasTheStreamsThatAreAskedFor() throws {
        let publisher = try publisher(["constant"], rate: 10)
        let expected: [([String]?, Int)] = [
            (["phone/"], 1), (["phone/accelerometer", "watch/"], 1), (["*"], 1), (nil, 1), (["watch/"], 0),
            (["phone/gyro", "phone"], 0), ([], 0),
        ]
        for (patterns, count) in expected {
            #expect(try publisher.descriptions(publisher.list(patterns)).count == count, "\(patterns ?? [])")
        }
        let tooMany = publisher.list((0...StreamsList.maximumPatterns).map { "watch-\($0)/" })
        #expect(publisher.refusal(tooMany)?.data?.reason == "invalidParameter")
    }

    @Test func nothingIsPublishedAfterAStopWasAnswered() throws {
        let publisher = try publisher(["noise"], rate: 2000, batch: 3, startsStopped: true)
        var expected = 0
        for round in 1...3 {
            let started = try publisher.descriptions(publisher.start(phone))
            #expect(started.map(\.state) == [.running])
            #expect(started.map(\.lastSample) == started.map(\.clock.uptime), "the first sample is taken at once")
            #expect(publisher.heard[0].batches.count == 7 * (round - 1), "it is described before that is published")
            publisher.run(seconds: 0.01)
            let stopped = try publisher.descriptions(publisher.stop(phone))
            expected += 21
            #expect(stopped.map(\.state) == [.stopped])
            #expect(stopped.map(\.nextSequence) == [expected])
            #expect(publisher.heard[0].descriptions.last?.state == .stopped)
            publisher.run(seconds: 5)
            #expect(publisher.heard[0].batches.reduce(0) { $0 + $1.count } == 21 * round)
        }
    }

    /// An unreadable source delays neither other sources nor requests for them.
    @Test func aStreamBehindItsScheduleKeepsNoOtherWaiting() throws {
        let batch = 4_096
        let publisher = try publisher(["sine", "sine"], rate: 100_000, batch: batch)
        publisher.pass(to: publisher.now.monotonic + 2 * second)
        // 2 s at 100,000 Hz are 48 turns per stream.
        for turns in 1...20 {
            for _ in 0..<2 {
                publisher.core.wake(at: publisher.now)
                publisher.perform()
            }
            #expect(publisher.heard.allSatisfy { $0.batches.count == turns })
            publisher.pass(to: publisher.now.monotonic + Publication.shortestPause)
        }
        let list = publisher.list(["phone/"])
        let stop = publisher.stop(StreamName(device: "device1", stream: "accelerometer"))
        #expect(publisher.answers.isEmpty, "what was sampled is to be published first")
        let asked = publisher.now.monotonic - 50 * second
        publisher.run(seconds: 1)
        let due = Int(asked / 10_000) + 1
        #expect(publisher.core.lateness.maximum >= second)
        #expect(try publisher.descriptions(list).map(\.nextSequence) == [due])
        #expect(try publisher.descriptions(stop).map(\.nextSequence) == [due])
    }

    @Test func aRequestThatIsForgottenStopsNothing() throws {
        let publisher = try publisher(rate: 100_000, batch: 4_096)
        publisher.pass(to: publisher.now.monotonic + second)
        let stop = publisher.stop(phone)
        publisher.core.forget(stop)
        publisher.run(seconds: 2)
        #expect(publisher.answers.isEmpty)
        #expect(publisher.core.streams[0].state == .running)
    }

    @Test func aSleepEndsTheBatchAndIsToldBeforeTheNext() throws {
        let publisher = try publisher(rate: 500, batch: 100_000)
        publisher.run(seconds: 0.025)
        publisher.slept = 5 * second
        let before = publisher.heard[0].descriptions.count
        publisher.settle()
        let described = try #require(publisher.heard[0].descriptions.dropFirst(before).first)
        let elapsed = try #require(described.clock.elapsed)
        #expect(abs(elapsed - described.clock.uptime - 5) < 1e-6)
        #expect(publisher.heard[0].batches.map(\.count) == [13], "no batch goes over the sleep")
        #expect(described.nextSequence == 13)
        #expect(
            publisher.heard[0].batches[0].rows.enumerated().allSatisfy {
                $0.offset % 4 != 0 || $0.element <= described.clock.uptime
            })
        publisher.run(seconds: 0.02)
        _ = publisher.stop(phone)
        let later = publisher.heard[0].batches.dropFirst().flatMap(\.rows)
        #expect(later.enumerated().allSatisfy { $0.offset % 4 != 0 || $0.element > described.clock.uptime })
        #expect(later.count == 4 * 10)
    }

    @Test func datesOfSamplesFromBeforeASleepAreWithoutIt() throws {
        let publisher = try publisher(rate: 500, batch: 10)
        publisher.run(seconds: 0.025)
        publisher.slept = 5 * second
        publisher.now.date = publisher.now.date.adding(5 * second)
        publisher.settle()
        publisher.run(seconds: 0.02)
        /// How far the clock is ahead of uptimes according to the first batches.
        let differences = publisher.heard[0].clocks.map { $0.date.seconds - $0.uptime }
        #expect(differences.prefix(2).allSatisfy { abs($0 - differences[0]) < 1e-3 }, "10 samples, and 3 at the sleep")
        #expect(differences.dropFirst(2).allSatisfy { abs($0 - differences[0] - 5) < 1e-3 } && differences.count > 2)
        // A later replay returns them together, except across the sleep.
        var replay = try publisher.core.beginReplay(request(0, 23))
        publisher.core.findNext(of: &replay, at: publisher.now)
        let replayed = try replay.reply().1.map { frame in
            try frame.withUnsafeBytes { try SampleBody.clock(at: SampleBody($0).clock, in: $0) }
        }
        let again = replayed.map { $0.date.seconds - $0.uptime - differences[0] }
        #expect(again.count == 2 && abs(again[0]) < 1e-3 && abs(again[1] - 5) < 1e-3)
        // Once the machine has slept, the batches say on which side of the sleep they were taken.
        func slept(_ clocks: [ClockReading]) -> [Double?] {
            clocks.map { clock in clock.elapsed.map { ($0 - clock.uptime).rounded() } }
        }
        #expect(slept(Array(publisher.heard[0].clocks.prefix(3))) == [nil, 0, 5])
        #expect(slept(replayed) == [0, 5])
    }

    @Test func aFailureIsDescribedAtOnceAfterTheLastBatchAndAgainEachSecond() throws {
        let rows = (0..<100).map { "\(Double($0) / 1000),\($0 == 95 ? "oops" : "\($0)")" }
        try withFile("walk.csv", "t,x\n" + rows.joined(separator: "\n")) { path in
            let stream = try StreamConfiguration(
                device: "phone", stream: "accelerometer", source: .replay(path), batch: 10)
            let publisher = try VirtualPublisher([stream], sources: [try stream.openSource()])
            publisher.begin()
            publisher.run(seconds: 0.0935)
            #expect(publisher.heard[0].descriptions.map(\.state) == [.running], "a failure is told in its time")
            #expect(publisher.health.isEmpty)
            publisher.run(seconds: 0.01)
            let heard = publisher.heard[0]
            #expect(heard.batches.map(\.count) == [10, 10, 10, 10, 10, 10, 10, 10, 10, 5])
            let failed = try #require(heard.descriptions.last)
            #expect(failed.state == .failed)
            #expect(failed.nextSequence == 95)
            #expect(failed.reason?.contains("oops") == true)
            #expect(publisher.health["stream phone/accelerometer"]?.contains("oops") == true)
            #expect(failed.lastSample == heard.rows[heard.rows.count - 2])
            #expect(failed.clock.uptime >= heard.rows[heard.rows.count - 2])
            publisher.run(seconds: 1)
            let again = try #require(publisher.heard[0].descriptions.last)
            #expect(again.sequence == failed.sequence + 1)
            #expect(again.state == .failed)
            #expect(again.reason == failed.reason)
            #expect(again.lastSample == failed.lastSample)
            // A new start resets the stream and clears what was reported.
            _ = publisher.start(phone)
            #expect(publisher.health.isEmpty)
            publisher.run(seconds: 0.0301)
            #expect(publisher.heard[0].batches.last?.firstSequence == 115)
        }
    }

    @Test func theEndPublishesWhatWaitsAndStopsAllStreams() throws {
        let publisher = try publisher(["sine", "noise"], rate: 100, batch: 100)
        publisher.run(seconds: 0.5)
        publisher.finish()
        #expect(publisher.isFinished)
        for heard in publisher.heard {
            #expect(heard.batches.map(\.count) == [51])
            #expect(heard.descriptions.last?.state == .stopped)
            #expect(heard.descriptions.last?.nextSequence == 51)
        }
        #expect(publisher.refusal(publisher.start(phone))?.data?.reason == "stopping")
    }

    @Test func theEndComesInTimeAlsoBehindTheSchedule() throws {
        let publisher = try publisher(rate: 100_000, batch: 10)
        publisher.readsAtOnce = { false }
        publisher.run(seconds: 0.01)
        publisher.finish()
        publisher.run(seconds: 2.9)
        #expect(!publisher.isFinished)
        publisher.run(seconds: 0.2)
        #expect(publisher.isFinished)
        #expect(publisher.heard[0].descriptions.last?.state == .stopped)
    }

    // MARK: Replays

    @Test func aReplayIsBoundedAndGoesOnWhereItEnded() throws {
        let publisher = try publisher(
            ["constant"], rate: 2e5, batch: 10_000, isPacked: true, retentionBytes: 20_000_000)
        publisher.run(seconds: 1)
        let end = try #require(try publisher.descriptions(publisher.stop(phone)).first).nextSequence
        var request = request(0, .max)
        var answers = 0
        while request.from < end {
            let (reply, batches) = try publisher.replay(request)
            try #require(reply.count > 0)
            #expect(reply.from == request.from)
            #expect(batches.reduce(0) { $0 + $1.rows.count } == reply.count)
            #expect(reply.count * 32 <= 4_000_000)
            request.from = reply.from + reply.count
            answers += 1
        }
        #expect(answers >= 2)
    }

    @Test func aReplayOfSeveralRangesIsBoundedAndFairBetweenThem() throws {
        let publisher = try publisher(
            ["constant"], rate: 2e5, batch: 10_000, isPacked: true, retentionBytes: 40_000_000)
        publisher.run(seconds: 1.5)
        let all = try #require(try publisher.descriptions(publisher.stop(phone)).first).nextSequence
        let (reply, batches) = try publisher.replay(
            SamplesReplay([
                request(5, 10), request(0, 1, device: "watch"), request(0, all), request(7, 1, epoch: "yesterday"),
                request(1, all), request(all + 5, 1),
            ]))
        let parts = try #require(reply.ranges)
        #expect(parts.map(\.error?.data?.reason) == [nil, "unknownStream", nil, "unknownEpoch", nil, nil])
        #expect(parts.map(\.from) == [5, 0, 0, 7, 1, all + 5])
        #expect(parts[0].count == 10)
        #expect(parts[5].count == 0)
        #expect(parts.allSatisfy { $0.error != nil || $0.last == all - 1 })
        // The two large streams share the space that the small ones leave.
        #expect(parts[2].count > 30_000 && parts[4].count > 30_000)
        #expect(batches.reduce(0) { $0 + $1.rows.count } == parts.reduce(0) { $0 + $1.count })
        #expect(batches.reduce(0) { $0 + $1.rows.count } * 32 <= 4_000_000)
        #expect(batches.count * 2 == parts.reduce(0) { $0 + $1.frames })
        let error = #expect(throws: RequestError.self) {
            try publisher.replay(SamplesReplay(Array(repeating: request(0, 1), count: 1_001)))
        }
        #expect(error?.data?.reason == "invalidParameter")
    }

    @Test func theOldestSamplesGoWhenTheMemoryIsFull() throws {
        let publisher = try publisher(rate: 1000, batch: 1, retentionBytes: 5_000)
        publisher.run(seconds: 0.1)
        let end = try #require(try publisher.descriptions(publisher.stop(phone)).first).nextSequence
        let (reply, batches) = try publisher.replay(request(0, end))
        #expect(reply.from > 0)
        #expect(reply.from == reply.first)
        #expect(reply.last == end - 1)
        #expect(batches.first?.batch.sequence == reply.from)
    }

    @Test func moreReplaysThanThereIsMemoryForAreToComeAgain() throws {
        let publisher = try publisher()
        for _ in 0..<Publication.maximumReplays { _ = try publisher.core.beginReplay(request(0, 1)) }
        let refusal = #expect(throws: RequestError.self) { try publisher.core.beginReplay(request(0, 1)) }
        #expect(refusal?.data == RequestError.Detail(reason: "busy", retryAfter: 0.5))
        publisher.core.endReplay()
        _ = try publisher.core.beginReplay(request(0, 1))
    }

    @Test func anErrorDoesNotListThousandsOfStreams() throws {
        let publisher = try publisher(Array(repeating: "sine", count: 3_000))
        let error = #expect(throws: RequestError.self) { try publisher.replay(request(0, 1, device: "watch")) }
        #expect(error?.data?.reason == "unknownStream")
        #expect(error?.message.hasSuffix(", device19/accelerometer and 2980 others") == true, "\(error?.message ?? "")")
    }
}
