import GRDB
import Messages
import ServiceKit
import Synchronization
import StepStorage
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Counting live: what is missing, what begins anew, what can't be counted, and what is kept meanwhile.
@Suite(.timeLimit(.minutes(3)))
struct CountingTests {
    private func run(
        _ publishers: WalkingPublisher..., options: [String: String] = [:],
        _ body: @escaping @Sendable (StepCounterUnderTest) async throws -> Void
    ) async throws {
        try await StepCounterUnderTest.run(listeningTo: publishers, options: options, body)
    }

    private func reasons(_ counter: StepCounterUnderTest) -> String {
        counter.health.reply.reasons.joined(separator: "\n")
    }

    // MARK: What is missing

    @Test(arguments: [false, true])
    func whoJoinsLateCountsWhatIsKept(isPacked: Bool) async throws {
        let publisher = try await WalkingPublisher(isPacked: isPacked)
        try publisher.walk(seconds: 60)
        publisher.set { $0.firstKept = 1_000 }
        try await run(publisher) { counter in
            try await counter.counts(publisher.expectedSteps(from: 1_000).count)
            try await eventually("the gap") { counter.events.contains { $0.change == .gap } }
            let gap = try #require(counter.events.first { $0.change == .gap }?.gap)
            #expect(gap.from == 0 && gap.count == 1_000 && gap.reason == .notRetained)
            // Nobody was there to count it.
            #expect(counter.outcome() == .done)
        }
    }

    @Test(arguments: [false, true])
    func whatGotLostIsAskedForAgain(isPacked: Bool) async throws {
        let publisher = try await WalkingPublisher(isPacked: isPacked)
        try await run(publisher) { counter in
            try await counter.isCounting()
            for _ in 0..<10 {
                try publisher.walk(seconds: 3)
                try publisher.walk(seconds: 2, isLost: true)
            }
            try await counter.counts(publisher.expectedSteps().count)
            #expect(publisher.replaysAsked > 0)
            #expect(counter.outcome() == .done)
            #expect(!counter.events.contains { $0.change == .gap })
        }
    }

    @Test func whatWaitsIsBoundedAndAskedForAgain() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher, options: ["hold-limit": "5kB"]) { counter in
            try await counter.isCounting()
            let gate = AsyncStream.makeStream(of: Never.self)
            let asked = Mutex(0)
            publisher.set { state in
                state.replay = { request in
                    asked.withLock { $0 = max($0, request.from) }
                    for await _ in gate.stream {}
                    return try publisher.answer(request)
                }
            }
            try publisher.walk(seconds: 2, isLost: true)
            try publisher.walk(seconds: 60)
            // A description arrives after all samples before it.
            publisher.set { $0.unit = "furlongs" }
            try await eventually("the samples to wait") { reasons(counter).contains("'furlongs'") }
            publisher.set { $0.unit = "g" }
            gate.continuation.finish()
            try await counter.counts(publisher.expectedSteps().count)
            // Not only for what was lost.
            #expect(asked.withLock { $0 } > 100)
        }
    }

    @Test func whatIsNotKeptAnyMoreIsToldAsLost() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            try publisher.walk(seconds: 20)
            try await counter.counts(publisher.expectedSteps().count)
            publisher.set { $0.firstKept = 1_250 }
            try publisher.walk(seconds: 10, isLost: true)
            try publisher.walk(seconds: 20)
            try await eventually("the gap") { counter.events.contains { $0.change == .gap } }
            let event = try #require(counter.events.first { $0.change == .gap })
            #expect(event.stream == publisher.name)
            #expect(event.gap?.from == 1_000 && event.gap?.count == 250)
            try await eventually("health to tell") { reasons(counter).contains("250 samples were lost") }
            try await eventually("steps after the gap") { try await counter.steps() > 60 }
            #expect(counter.outcome() == .doneWithLoss)
        }
    }

    @Test func batchesThatCanNotBeReadAreToldAndCountingGoesOn() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            try publisher.walk(seconds: 20)
            // Nobody knows of them, to ask for them again, before they can be read.
            publisher.set {
                $0.isSilent = true
                $0.fields = ["uptime", "x", "y", "temperature"]
            }
            try publisher.walk(seconds: 2)
            publisher.set {
                $0.isSilent = false
                $0.fields = ["uptime", "x", "y", "z"]
            }
            try publisher.walk(seconds: 20)
            try await counter.counts(publisher.expectedSteps().count)
            try await eventually("health to tell") { reasons(counter).contains("could not be read") }
        }
    }

    // MARK: What begins anew

    @Test(arguments: [StepCounterUnderTest.End.inOrder, .killed])
    func aCounterThatComesBackCountsEachStepOnce(end: StepCounterUnderTest.End) async throws {
        let publisher = try await WalkingPublisher()
        try await withTemporaryDirectory { data in
            try await StepCounterUnderTest.whileRunning([publisher]) {
                for run in 0..<4 {
                    try await StepCounterUnderTest.run(in: data, listeningTo: [publisher], end: end) { counter in
                        try await counter.isCounting()
                        let before = publisher.count
                        try publisher.walk(seconds: 7)
                        if run > 0 { try await counter.counts(publisher.expectedSteps().count) }
                        #expect(publisher.count == before + 350)
                    }
                    try publisher.walk(seconds: 7, isLost: true)
                }
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher]) { counter in
                    try await counter.counts(publisher.expectedSteps().count)
                    #expect(!counter.events.contains { $0.change == .gap })
                }
            }
            let dates = try StepHistory(in: data, at: .now).dates(of: "phone").map(\.seconds)
            let expected = publisher.expectedSteps()
            try #require(dates.count == expected.count)
            // A clock's reading is right to a part of a millisecond, and each run has its own.
            for (date, uptime) in zip(dates, expected) {
                #expect(abs(date - uptime - (dates[0] - expected[0])) < 0.01)
            }
        }
    }

    @Test func aPublisherThatComesBackIsCountedOn() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            let subscription = try await counter.start(updateOn: 1_000)
            try publisher.walk(seconds: 20)
            let before = publisher.expectedSteps().count
            try await counter.counts(before)
            publisher.restart()
            // Before anybody has heard of the new run.
            try publisher.walk(seconds: 20)
            let after = publisher.expectedSteps().count
            try await counter.counts(before + after)
            #expect(counter.outcome() == .done)
            try await eventually("the walk's end") { counter.events.contains { $0.change == .pause } }
            #expect(try await counter.stop(subscription) >= before)
        }
    }

    @Test func aPublisherThatComesBackMeanwhileHasTakenSamplesAlong() async throws {
        let publisher = try await WalkingPublisher()
        try await withTemporaryDirectory { data in
            try await StepCounterUnderTest.whileRunning([publisher]) {
                try publisher.walk(seconds: 20)
                let before = publisher.expectedSteps().count
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher]) { counter in
                    try await counter.counts(before)
                }
                publisher.restart()
                try publisher.walk(seconds: 20)
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher]) { counter in
                    try await counter.counts(before + publisher.expectedSteps().count)
                    let gap = try await eventualValue("the gap") {
                        counter.events.first { $0.change == .gap }?.gap
                    }
                    #expect(gap.count == 0 && gap.from == 1_000 && gap.reason == .epochEnded)
                    #expect(counter.outcome() == .doneWithLoss)
                }
            }
        }
    }

    @Test func aSubscriptionOutlivesAKill() async throws {
        let publisher = try await WalkingPublisher()
        try await withTemporaryDirectory { data in
            try await StepCounterUnderTest.whileRunning([publisher]) {
                let (started, starting) = AsyncStream.makeStream(of: String.self)
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher], end: .killed) { counter in
                    try await counter.isCounting()
                    let subscription = try await counter.start(updateOn: 50)
                    starting.yield(subscription)
                    try publisher.walk(seconds: 20)
                    try await counter.counts(publisher.expectedSteps().count)
                }
                let subscription = try #require(await started.first { _ in true })
                try publisher.walk(seconds: 20, isLost: true)
                try await StepCounterUnderTest.run(in: data, listeningTo: [publisher]) { counter in
                    let expected = publisher.expectedSteps().count
                    try await counter.counts(expected)
                    try await eventually("an update") { counter.totals(subscription).count == 1 }
                    #expect(try await counter.stop(subscription) == expected)
                }
            }
        }
    }

    @Test func aClockThatJumpsMakesNoSteps() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            let subscription = try await counter.start(updateOn: 10)
            for ahead in [0.0, -5, 3_600, -3_600, 0] {
                publisher.set { $0.ahead = ahead }
                try publisher.walk(seconds: 10)
            }
            let expected = publisher.expectedSteps().count
            try await counter.counts(expected)
            let totals = counter.totals(subscription)
            #expect(totals == totals.sorted() && Set(totals).count == totals.count)
            #expect(try await counter.stop(subscription) == expected)
            publisher.set { $0.ahead = 3_600 }
            try await eventually("health to tell") { reasons(counter).contains("the clock of phone is 3600 s ahead") }
        }
    }

    // MARK: What can't be counted

    @Test func aStreamWithoutUnitIsToldOfUntilItSaysOne() async throws {
        let publisher = try await WalkingPublisher()
        publisher.set { $0.unit = nil }
        try await run(publisher) { counter in
            try publisher.walk(seconds: 20)
            try await eventually("health to tell") { reasons(counter).contains("phone/accelerometer is not counted") }
            #expect(reasons(counter).contains("--unit"))
            publisher.set { $0.unit = "furlongs" }
            try await eventually("health to tell") { reasons(counter).contains("'furlongs'") }
            publisher.set { $0.unit = "g" }
            try await counter.counts(publisher.expectedSteps().count)
            #expect(!reasons(counter).contains("is not counted"))
        }
    }

    @Test func theUnitOfAStreamThatSaysNoneCanBeSaid() async throws {
        let publisher = try await WalkingPublisher()
        publisher.set { $0.unit = nil }
        try publisher.walk(seconds: 20)
        try await run(publisher, options: ["unit": "g"]) { counter in
            try await counter.counts(publisher.expectedSteps().count)
        }
    }

    @Test func aDeviceIsCountedInOneStream() async throws {
        let one = try await WalkingPublisher()
        let two = try await WalkingPublisher(stream: "raw")
        try one.walk(seconds: 20)
        // The stream that is heard of first is the one.
        two.set { $0.isSilent = true }
        try await run(one, two, options: ["stream": "accelerometer,raw"]) { counter in
            try await counter.counts(one.expectedSteps().count)
            two.set { $0.isSilent = false }
            try two.walk(seconds: 40)
            try await eventually("health to tell") { reasons(counter).contains("name with --stream") }
            try one.walk(seconds: 20)
            try await counter.counts(one.expectedSteps().count)
        }
    }

    @Test func aDeviceThatChangesItsStreamIsNotCountedTwice() async throws {
        let old = try await WalkingPublisher()
        let new = try await WalkingPublisher(stream: "raw")
        for publisher in [old, new] { try publisher.walk(seconds: 20) }
        let options = ["stream": "accelerometer,raw"]
        try await withTemporaryDirectory { data in
            let before = old.expectedSteps().count
            try await StepCounterUnderTest.whileRunning([old]) {
                try await StepCounterUnderTest.run(in: data, listeningTo: [old], options: options) { counter in
                    try await counter.counts(before)
                }
            }
            // The other one may be back any moment; then it is given up, and the new one is counted from there on.
            try await StepCounterUnderTest.whileRunning([new]) {
                try await StepCounterUnderTest.run(in: data, listeningTo: [new], options: options) { counter in
                    try await counter.isCounting()
                    try new.walk(seconds: 20)
                    try await counter.counts(before + new.expectedSteps(from: 1_000).count)
                }
            }
        }
    }

    @Test func noMoreDevicesAreCountedThanMayBe() async throws {
        let publishers = [try await WalkingPublisher(device: "a"), try await WalkingPublisher(device: "b")]
        for publisher in publishers { try publisher.walk(seconds: 20) }
        try await StepCounterUnderTest.run(listeningTo: publishers, options: ["maximum-devices": "1"]) { counter in
            try await eventually("health to tell") { reasons(counter).contains("--maximum-devices") }
            try await eventually("steps of one") {
                let counts = [try await counter.steps("a"), try await counter.steps("b")]
                #expect(counts.contains(0))
                return counts.max() == publishers[0].expectedSteps().count
            }
        }
    }

    @Test func twoPublishersOfOneStreamAreToldOf() async throws {
        let one = try await WalkingPublisher()
        let two = try await WalkingPublisher()
        two.set { $0.epochNumber = 7 }
        try await run(one, two) { counter in
            try await eventually("health to tell") { reasons(counter).contains("two publishers have a stream") }
        }
    }

    @Test func whereNoPublisherIsHeardHealthSaysSo() async throws {
        try await run { counter in
            try await eventually("health to tell") { reasons(counter).contains("no publisher is heard") }
            #expect(try await !counter.send(StepsIsAvailable()).available)
        }
    }

    // MARK: What is kept meanwhile

    @Test func stepsWaitWhileTheHistoryCanNotBeWritten() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            let subscription = try await counter.start(updateOn: 10)
            try publisher.walk(seconds: 10)
            let before = publisher.expectedSteps().count
            try await counter.counts(before)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            // The counter may be writing.
            configuration.busyMode = .timeout(60)
            let intruder = try DatabaseQueue(
                path: StepHistory.path(in: counter.data).string, configuration: configuration)
            try await intruder.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            try publisher.walk(seconds: 20)
            let expected = publisher.expectedSteps().count
            try await eventually("health to tell") { reasons(counter).contains("steps wait in memory") }
            // Counting goes on.
            try await eventually("updates") { (counter.totals(subscription).last ?? 0) >= expected / 10 * 10 }
            #expect(try await counter.steps() == before)
            try await intruder.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await counter.counts(expected)
            try await eventually("health to be well") { !reasons(counter).contains("steps wait in memory") }
            #expect(counter.outcome() == .done)
        }
    }
}
