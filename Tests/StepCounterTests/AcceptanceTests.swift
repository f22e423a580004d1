import MessageBus
import Messages
import StepDetection
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Guarantees for every client: the acceptance cases, by number, of the Apple step counter whose successor this one is.
@Suite(.timeLimit(.minutes(3)))
struct AcceptanceTests {
    /// Runs a step counter with one walker.
    private func run(
        isPacked: Bool = false, options: [String: String] = [:],
        _ body: @escaping @Sendable (StepCounterUnderTest, WalkingPublisher) async throws -> Void
    ) async throws {
        let publisher = try await WalkingPublisher(isPacked: isPacked)
        try await StepCounterUnderTest.run(listeningTo: [publisher], options: options) { counter in
            try await counter.isCounting()
            try await body(counter, publisher)
        }
    }

    @Test(arguments: [false, true])
    func case49TotalsAreToldAtEachMultiple(isPacked: Bool) async throws {
        try await run(isPacked: isPacked, options: ["stride-length": "1.4"]) { counter, publisher in
            // Samples that were published before the counter's subscription arrived are replayed, a second at a time.
            publisher.set { $0.replySize = 50 }
            #expect(try await counter.send(StepsIsAvailable()).available)
            #expect(try await !counter.send(StepsIsAvailable(device: "watch")).available)
            let reply = try await counter.send(StepsStartUpdates(device: "phone", updateOn: 100))
            #expect(reply.topic == "steps/phone")
            try publisher.walk(seconds: 180, batch: 1)
            let expected = publisher.expectedSteps()
            #expect((310...340).contains(expected.count))
            try await counter.counts(expected.count)
            try await eventually("three updates") { counter.totals(reply.subscription).count == 3 }
            // Exactly at the multiples, except for replayed samples, which come in larger batches.
            for (total, multiple) in zip(counter.totals(reply.subscription), [100, 200, 300]) {
                #expect((multiple...multiple + 7).contains(total))
            }
            let update = try #require(counter.events.last { $0.change == .update })
            #expect(update.startDate == reply.startDate)
            #expect(try abs(#require(update.cadence) - 1.8) < 0.1)
            #expect(try abs(#require(update.distance) - 0.7 * Double(#require(update.numberOfSteps))) < 1e-9)
            let resume = try #require(counter.events.first { $0.change == .resume })
            #expect(update.boutStart == resume.date)
            #expect(abs(resume.date.seconds - WallTime.now.seconds - 120) < 60)
            #expect(try await counter.stop(reply.subscription) == expected.count)
        }
    }

    @Test func case50ABatchThatPassesSeveralMultiplesIsOneUpdate() async throws {
        try await run { counter, publisher in
            let subscription = try await counter.start(updateOn: 100)
            try publisher.walk(seconds: 52)
            let before = publisher.expectedSteps().count
            #expect((60..<100).contains(before))
            try await counter.counts(before)
            // Replayed samples would come in smaller batches.
            try await counter.hears(publisher)
            try publisher.walk(seconds: 120, batch: 6_000)
            let total = publisher.expectedSteps().count
            #expect((300..<400).contains(total))
            try await eventually("the update") { counter.totals(subscription) == [total] }
            try publisher.walk(seconds: 60)
            try await eventually("the next update") { counter.totals(subscription).count == 2 }
            #expect(try (400...402).contains(#require(counter.totals(subscription).last)))
        }
    }

    @Test func case51ASecondStartCountsAnew() async throws {
        try await run { counter, publisher in
            let first = try await counter.start(updateOn: 50)
            try publisher.walk(seconds: 20)
            let before = publisher.expectedSteps()
            try await counter.counts(before.count)
            let second = try await counter.start(updateOn: 10)
            #expect(first != second)
            try publisher.walk(seconds: 20)
            let after = publisher.expectedSteps()
            try await counter.counts(after.count)
            #expect(try await counter.stop(first) == after.count)
            let since = after.count - before.count
            #expect(since > 25)
            #expect(try await counter.stop(second) == since)
            // A second stop returns the same answer.
            #expect(try await counter.stop(second) == since)
        }
    }

    @Test func whatWasSampledBeforeAStartDoesNotCount() async throws {
        let publisher = try await WalkingPublisher(delay: -5)
        try publisher.walk(seconds: 20)
        try await StepCounterUnderTest.run(listeningTo: [publisher]) { counter in
            // The publisher's samples arrive at once, although most will be taken only in the coming seconds.
            let before = Double(MonotonicClock.now) / 1e9
            let subscription = try await counter.start(updateOn: 1_000)
            let after = Double(MonotonicClock.now) / 1e9
            let expected = publisher.expectedSteps()
            try await counter.counts(expected.count)
            let counted = try await counter.stop(subscription)
            #expect(counted < expected.count)
            // A late message, as on a busy machine, makes its samples seem younger by its delay.
            let (least, most) = (expected.count { $0 >= after } - 2, expected.count { $0 >= before - 3 } + 2)
            #expect((least...most).contains(counted), "\(least) \(most) \(counted)")
        }
    }

    @Test(arguments: [0, -1])
    func case52AnUpdateIsOfOneStepOrMore(updateOn: Int) async throws {
        try await run { counter, _ in
            let refusal = try await counter.refusal(StepsStartUpdates(device: "phone", updateOn: updateOn))
            #expect(refusal == "invalidParameter")
            let otherRefusal = try await counter.refusal(StepsStartUpdates(device: "a/b", updateOn: 1))
            #expect(otherRefusal == "invalidParameter")
        }
    }

    @Test func case53ASubscriberThatWasAwayGetsTheFullTotalNext() async throws {
        try await run { counter, publisher in
            let subscription = try await counter.start(updateOn: 20)
            try await {
                let subscriber = try await counter.subscriber()
                try await eventually("an update that is heard") {
                    try publisher.walk(seconds: 12)
                    return try await Self.totals(in: subscriber, of: subscription).last != nil
                }
            }()
            // Nobody listens on that socket any more.
            try publisher.walk(seconds: 60)
            try await counter.counts(publisher.expectedSteps().count)
            let away = try await eventualValue("updates") { counter.totals(subscription).last }
            let subscriber = try await counter.subscriber()
            var totals: [Int] = []
            try await eventually("the next update") {
                try publisher.walk(seconds: 12)
                totals = try await Self.totals(in: subscriber, of: subscription)
                return !totals.isEmpty
            }
            #expect(totals.allSatisfy { $0 > away })
            let total = totals[0]
            try await eventually("the same update for others") { counter.totals(subscription).contains(total) }
        }
    }

    @Test func case54AStopLeavesQueriesAlone() async throws {
        try await run { counter, publisher in
            let subscription = try await counter.start(updateOn: 20)
            try publisher.walk(seconds: 60)
            let expected = publisher.expectedSteps().count
            try await counter.counts(expected)
            let now = WallTime.now.seconds
            let query = StepsQuery(
                device: "phone", from: WallTime(seconds: now - 1e4), to: WallTime(seconds: now + 1e4), interval: 4)
            try await withThrowingTaskGroup(of: Int.self) { queries in
                for _ in 0..<8 {
                    queries.addTask {
                        let reply = try await counter.send(query)
                        #expect(reply.bins?.count == 5_000)
                        return reply.numberOfSteps
                    }
                }
                // The queries run in succession; the stop does not wait for them.
                #expect(try await counter.stop(subscription) == expected)
                for try await steps in queries { #expect(steps == expected) }
            }
        }
    }

    @Test func case55WhatIsNotKnownIsZeroAndAReversedRangeIsRefused() async throws {
        try await run(options: ["keep": "1h"]) { counter, publisher in
            publisher.set { $0.ahead = -7_200 }
            // Two hours ago, by the device's clock.
            try publisher.walk(seconds: 20)
            publisher.set { $0.ahead = 0 }
            try publisher.stand(seconds: 10)
            try publisher.walk(seconds: 20)
            let now = WallTime.now.seconds
            let later = WallTime(seconds: now + 3_600)
            try await eventually("steps") {
                try await counter.send(
                    StepsQuery(device: "phone", from: WallTime(seconds: now - 1_800), to: later)
                ).numberOfSteps > 20
            }
            let old = try await counter.send(
                StepsQuery(device: "phone", from: WallTime(seconds: now - 9e5), to: WallTime(seconds: now - 5_000)))
            #expect(old.numberOfSteps == 0)
            #expect(old.firstAvailable.seconds > now - 3_700)
            let nobody = try await counter.send(
                StepsQuery(device: "nobody", from: WallTime(seconds: now - 60), to: later, interval: 600))
            #expect(nobody.numberOfSteps == 0)
            #expect(nobody.bins?.allSatisfy { $0.numberOfSteps == 0 } == true)
            let refusal = try await counter.refusal(
                StepsQuery(device: "phone", from: later, to: WallTime(seconds: now)))
            #expect(refusal == "invalidParameter")
        }
    }

    @Test func case56AQueryKnowsWhatWasBeforeAnybodyAsked() async throws {
        try await run { counter, publisher in
            try publisher.walk(seconds: 30)
            let expected = publisher.expectedSteps().count
            #expect(expected > 40)
            try await counter.counts(expected)
            let subscription = try await counter.start(updateOn: 1)
            #expect(try await counter.stop(subscription) == 0)
            #expect(try await counter.steps() == expected)
        }
    }

    @Test func aQueryAndAnUpdateReportWhatWasCounted() async throws {
        try await run { counter, publisher in
            let unknown = try await counter.send(StepsStartUpdates(device: "nobody", updateOn: 1))
            #expect(unknown.isKnown == false && unknown.numberOfSteps == 0)
            let known = try await counter.send(StepsStartUpdates(device: "phone", updateOn: 5))
            #expect(known.isKnown == true)
            let start = publisher.startDate
            try publisher.walk(seconds: 20, isLost: true)
            try publisher.walk(seconds: 10)
            try await counter.counts(publisher.expectedSteps().count)
            let from = WallTime(seconds: start + 5)
            let whole = try await counter.send(
                StepsQuery(device: "phone", from: from, to: WallTime(seconds: start + 20)))
            #expect(whole.coverage == 1 && whole.gaps == [] && whole.isKnown == true)
            let later = try await counter.send(
                StepsQuery(device: "phone", from: from, to: WallTime(seconds: start + 380), interval: 15))
            #expect(later.gaps?.map(\.reason) == [.notArrived])
            #expect(later.bins?.first?.coverage == 1 && later.bins?.last?.coverage == 0)
            let update = try await eventualValue("an update") { counter.events.last { $0.change == .update } }
            let coverage = try #require(update.coverage)
            #expect(coverage > 0 && coverage < 0.5, "two minutes before the first sample have none")
            #expect(update.gaps?.map(\.reason) == [.unknown])
        }
    }

    @Test func aNamedSubscriptionOutlivesItsClientAndARestart() async throws {
        try await withTemporaryDirectory { data in
            let publisher = try await WalkingPublisher()
            let request = StepsStartUpdates(device: "phone", updateOn: 10, name: "study", lifetime: 3_600)
            try await StepCounterUnderTest.whileRunning([publisher]) {
                let subscription = Mutex("")
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher], end: .killed) { counter in
                    let reply = try await counter.send(request)
                    subscription.withLock { $0 = reply.subscription }
                    try publisher.walk(seconds: 20)
                    try await counter.counts(publisher.expectedSteps().count)
                }
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher]) { counter in
                    let reply = try await counter.send(request)
                    let id = subscription.withLock { $0 }
                    let total = publisher.expectedSteps().count
                    #expect(reply.subscription == id && reply.numberOfSteps == total && reply.isKnown == true)
                    let list = try await counter.send(StepsSubscriptions())
                    #expect(list.subscriptions.map(\.subscription) == [id])
                    #expect(
                        list.subscriptions.map(\.name) == ["study"] && list.subscriptions.map(\.lifetime) == [3_600])
                    #expect(try await counter.send(StepsSubscriptions(device: "watch")).subscriptions.isEmpty)
                    #expect(try await counter.stop(id) == total)
                }
            }
        }
    }

    /// The totals among a subscriber's received messages.
    private static func totals(in subscriber: Subscriber, of subscription: String) async throws -> [Int] {
        let batch = try await subscriber.next(deadline: MonotonicClock.now + 100_000_000)
        return try batch.withUnsafeMessages { messages in
            try (0..<messages.count).compactMap { message in
                let event = try EventFrames(message, of: messages).decode(StepEvent.self)
                return event.subscription == subscription ? event.numberOfSteps : nil
            }
        }
    }
}
