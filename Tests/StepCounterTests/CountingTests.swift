import GRDB
import Messages
import ServiceKit
import Synchronization
import StepStorage
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Live counting, over sockets and with the history on disk.
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

    // MARK: Missing samples

    @Test(arguments: [false, true])
    func lostBatchesAreReplayed(isPacked: Bool) async throws {
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

    @Test func unreadableBatchesAreReportedAndCountingContinues() async throws {
        let publisher = try await WalkingPublisher()
        try await run(publisher) { counter in
            try await counter.isCounting()
            try publisher.walk(seconds: 20)
            try await counter.hears(publisher)
            // The counter cannot request these samples before they can be read, because it does not know of them.
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
            try await eventually("a report of health") { reasons(counter).contains("could not be read") }
        }
    }

    // MARK: Restarts

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
            // A clock reading is accurate to a fraction of a millisecond, and each run has its own.
            for (date, uptime) in zip(dates, expected) {
                #expect(abs(date - uptime - (dates[0] - expected[0])) < 0.01)
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

    // MARK: The history

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
            try await eventually("a report of health") { reasons(counter).contains("steps wait in memory") }
            // Counting continues.
            try await eventually("updates") { (counter.totals(subscription).last ?? 0) >= expected / 10 * 10 }
            #expect(try await counter.steps() == before)
            try await intruder.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await counter.counts(expected)
            try await eventually("health to be well") { !reasons(counter).contains("steps wait in memory") }
            #expect(counter.outcome() == .done)
        }
    }
}
