import Messages
import SensorPublisher
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
            #expect(listed.replay == publisher.replyEndpoint)
            #expect(listed.truth?.cadence == 2)
            #expect(listed.description?.hasPrefix("walk:cadence=2.0") == true)

            let listener = try await publisher.listener()
            let first = try await listener.batches { _ in true }.description
            let second = try await listener.batches { _ in true }.description
            #expect(second.sequence == first.sequence + 1, "descriptions are counted")
            #expect(second.epoch == listed.epoch)
            #expect(second.nextSequence > first.nextSequence)
            // The walk's steps are those of the samples that were published.
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

    @Test func aListPublishesWhatWaitsForItsBatch() async throws {
        let flags = ["signal": "sine", "rate": "500", "batch": "100000", "start-stopped": "true"]
        try await PublisherUnderTest.run(flags) { publisher in
            let listener = try await publisher.listener()
            let before = ContinuousClock.now
            _ = try await publisher.ask(StreamsStart(stream: phone))
            var listed = 0
            while listed < 5 { listed = try #require(try await publisher.stream("phone/accelerometer")).nextSequence }
            #expect(Double(listed) <= ((ContinuousClock.now - before) / .seconds(1)) * 500 + 1)
            var heard = 0
            while heard < listed {
                let batch = try await listener.nextBatch()
                #expect(batch.batch.sequence == heard)
                heard += batch.rows.count
            }
            #expect(heard == listed)
        }
    }

    @Test func nothingIsPublishedAfterAStopWasAnswered() async throws {
        let flags = ["signal": "noise", "rate": "2000", "batch": "3", "start-stopped": "true"]
        try await PublisherUnderTest.run(flags) { publisher in
            let listener = try await publisher.listener()
            var expected = 0
            for _ in 0..<3 {
                _ = try await publisher.ask(StreamsStart(stream: phone))
                let running = try await listener.batches { $0.state == .running && $0.nextSequence == expected }
                #expect(running.batches.isEmpty)
                expected += try await listener.nextBatch().rows.count
                let stopped = try await publisher.ask(StreamsStop(stream: phone))
                #expect(stopped.state == .stopped)
                // Events come in order, so what precedes this description is all that there is.
                let last = try await listener.batches { $0.state == .stopped }
                for heard in last.batches {
                    #expect(heard.batch.sequence == expected)
                    expected += heard.rows.count
                }
                #expect(last.description.nextSequence == expected)
                #expect(stopped.nextSequence == expected)
                #expect(try await publisher.stream("phone/accelerometer")?.nextSequence == expected)
            }
        }
    }

    @Test func aSleepEndsTheBatchAndIsToldBeforeTheNext() async throws {
        let slept = Atomic(0)
        let flags = ["signal": "sine", "rate": "500", "batch": "100000", "start-stopped": "true"]
        try await PublisherUnderTest.run(
            flags, elapsedClock: { SleepWatch.elapsedNow + Int64(slept.load(ordering: .relaxed)) }
        ) { publisher in
            let listener = try await publisher.listener()
            let started = try await publisher.ask(StreamsStart(stream: phone))
            let before = try #require(started.clock.elapsed) - started.clock.uptime
            try await eventually("a sample") { MonotonicClock.now > Int64(started.clock.uptime * 1e9) + 20_000_000 }
            slept.store(5_000_000_000, ordering: .relaxed)
            // A list looks at the clocks, if no description came first.
            let listed = try #require(try await publisher.stream("phone/accelerometer"))
            #expect(abs(try #require(listed.clock.elapsed) - listed.clock.uptime - before - 5) < 0.5)

            let (ended, described) = try await listener.batches { $0.clock.elapsed ?? 0 > $0.clock.uptime + before + 4 }
            #expect(ended.map(\.batch.sequence) == [0], "no batch goes over the sleep")
            let earlier = try #require(ended.first).rows.map { $0[0] }
            #expect(described.nextSequence == earlier.count)
            #expect(earlier.allSatisfy { $0 <= described.clock.uptime })
            try await eventually("a sample after it") {
                guard let stream = try await publisher.stream("phone/accelerometer") else { return false }
                return stream.nextSequence > described.nextSequence
            }
            _ = try await publisher.ask(StreamsStop(stream: phone))
            let later = try await listener.batches { $0.state == .stopped }.batches.flatMap(\.rows).map { $0[0] }
            #expect(later.allSatisfy { $0 > described.clock.uptime })
            #expect(later.count > 0)
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
                #expect(refusal?.message == "there is no stream left-wrist/gyro; there are phone/accelerometer")
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
            #expect(middle.batches.map(\.batch.sequence) == [15, 20, 30, 40, 50])
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

    @Test func aReplayIsBoundedAndGoesOnWhereItEnded() async throws {
        let flags = [
            "signal": "constant", "rate": "2e5", "batch": "10000", "packed": "true", "retention-bytes": "20MB",
        ]
        try await PublisherUnderTest.run(flags) { publisher in
            var published = 0
            while published < 150_000 {
                published = try #require(try await publisher.stream("phone/accelerometer")).nextSequence
            }
            let last = try await publisher.ask(StreamsStop(stream: phone))
            var request = SamplesReplay(
                device: "phone", stream: "accelerometer", epoch: last.epoch, from: 0, count: .max)
            var answers = 0
            var next: Int?
            while request.from < last.nextSequence {
                let (reply, batches) = try await publisher.replay(request)
                try #require(reply.count > 0)
                if let next { #expect(reply.from == next) }
                #expect(batches.reduce(0) { $0 + $1.rows.count } == reply.count)
                #expect(reply.count * 32 <= 4_000_000)
                next = reply.from + reply.count
                request.from = reply.from + reply.count
                answers += 1
            }
            #expect(answers >= 2)
        }
    }

    @Test func aListHasTheStreamsThatAreAskedFor() async throws {
        try await PublisherUnderTest.run(["signal": "constant", "rate": "10"]) { publisher in
            let expected: [([String]?, Int)] = [
                (["phone/"], 1), (["phone/accelerometer", "watch/"], 1), (["*"], 1), (nil, 1), (["watch/"], 0),
                (["phone/gyro", "phone"], 0), ([], 0),
            ]
            for (patterns, count) in expected {
                let listed = try await publisher.ask(StreamsList(streams: patterns)).streams
                #expect(listed.count == count, "\(patterns ?? [])")
            }
            let tooMany = StreamsList(streams: (0...StreamsList.maximumPatterns).map { "watch-\($0)/" })
            let refusal = try await publisher.refusal(of: tooMany)
            #expect(refusal?.data?.reason == "invalidParameter")
        }
    }

    @Test func aReplayOfSeveralRangesIsBoundedAndFairBetweenThem() async throws {
        let flags = [
            "signal": "constant", "rate": "2e5", "batch": "10000", "packed": "true", "retention-bytes": "40MB",
        ]
        try await PublisherUnderTest.run(flags) { publisher in
            var published = 0
            while published < 300_000 {
                published = try #require(try await publisher.stream("phone/accelerometer")).nextSequence
            }
            let last = try await publisher.ask(StreamsStop(stream: phone))
            func range(_ from: Int, _ count: Int) -> SamplesReplay {
                SamplesReplay(device: "phone", stream: "accelerometer", epoch: last.epoch, from: from, count: count)
            }
            var (unknown, old) = (range(0, 1), range(7, 1))
            unknown.device = "watch"
            old.epoch = "yesterday"
            let all = last.nextSequence
            let (reply, batches) = try await publisher.replay(
                SamplesReplay([range(5, 10), unknown, range(0, all), old, range(1, all), range(all + 5, 1)]))
            let parts = try #require(reply.ranges)
            #expect(parts.map(\.error?.data?.reason) == [nil, "unknownStream", nil, "unknownEpoch", nil, nil])
            #expect(parts.map(\.from) == [5, 0, 0, 7, 1, all + 5])
            #expect(parts[0].count == 10)
            #expect(parts[5].count == 0)
            #expect(parts.allSatisfy { $0.error != nil || $0.last == all - 1 })
            // What the small ones leave is shared.
            #expect(parts[2].count > 30_000 && parts[4].count > 30_000)
            #expect(batches.reduce(0) { $0 + $1.rows.count } == parts.reduce(0) { $0 + $1.count })
            #expect(batches.reduce(0) { $0 + $1.rows.count } * 32 <= 4_000_000)
            #expect(batches.count * 2 == parts.reduce(0) { $0 + $1.frames })
            let many = SamplesReplay(Array(repeating: range(0, 1), count: 1_001))
            #expect(try await publisher.refusal(of: many)?.data?.reason == "invalidParameter")
        }
    }

    @Test func moreReplaysThanThereIsMemoryForAreToComeAgain() async throws {
        let slots = ReplaySlots()
        let refusals = await withTaskGroup(of: RequestError?.self) { group in
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            for _ in 0..<ReplaySlots.maximum {
                group.addTask {
                    try? await slots.withSlot {
                        begin.yield()
                        for await _ in ends {}
                    }
                    return nil
                }
            }
            var iterator = begun.makeAsyncIterator()
            for _ in 0..<ReplaySlots.maximum { await iterator.next() }
            group.addTask {
                do {
                    try await slots.withSlot {}
                    return nil
                } catch {
                    end.finish()
                    return error as? RequestError
                }
            }
            return await group.reduce(into: [RequestError]()) { if let refusal = $1 { $0.append(refusal) } }
        }
        #expect(refusals.map(\.data) == [RequestError.Detail(reason: "busy", retryAfter: 0.5)])
        try await slots.withSlot {}
    }

    @Test func theOldestSamplesGoWhenTheMemoryIsFull() async throws {
        let flags = ["signal": "sine", "rate": "1000", "batch": "1", "retention-bytes": "10KB"]
        try await PublisherUnderTest.run(flags) { publisher in
            var published = 0
            while published < 100 {
                published = try #require(try await publisher.stream("phone/accelerometer")).nextSequence
            }
            let last = try await publisher.ask(StreamsStop(stream: phone))
            let (reply, batches) = try await publisher.replay(
                SamplesReplay(
                    device: "phone", stream: "accelerometer", epoch: last.epoch, from: 0, count: last.nextSequence))
            #expect(reply.from > 0)
            #expect(reply.from == reply.first)
            #expect(reply.last == last.nextSequence - 1)
            #expect(batches.first?.batch.sequence == reply.from)
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

    @Test func aFailureIsDescribedAtOnceAfterTheLastBatchAndAgainEachSecond() async throws {
        let rows = (0..<100).map { "\(Double($0) / 1000),\($0 == 95 ? "oops" : "\($0)")" }
        try await withFile("walk.csv", "t,x\n" + rows.joined(separator: "\n")) { path in
            let flags = ["replay": path, "batch": "10", "start-stopped": "true"]
            try await PublisherUnderTest.run(flags) { publisher in
                let listener = try await publisher.listener()
                _ = try await publisher.ask(StreamsStart(stream: phone))
                let (batches, failed) = try await listener.batches { $0.state == .failed }
                #expect(batches.map(\.batch.count) == [10, 10, 10, 10, 10, 10, 10, 10, 10, 5])
                #expect(failed.nextSequence == 95)
                #expect(failed.reason?.contains("oops") == true)
                let last = try #require(batches.last?.rows.last)
                #expect(failed.lastSample == last[0])
                #expect(failed.clock.uptime >= last[0], "a failure that was read ahead is told in its time")
                let (none, again) = try await listener.batches { _ in true }
                #expect(none.isEmpty)
                #expect(again.state == .failed)
                #expect(again.reason == failed.reason)
                #expect(again.lastSample == failed.lastSample)
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
            // Measures come with the descriptions.
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
            // Behind its schedule for a moment, perhaps, on a busy machine.
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
