import FoundationEssentials
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The source of log settings: the recording first, then log-manager, then the recorder's own defaults.
@Suite(.timeLimit(.minutes(1)))
struct LogConfigurationTests {
    private static let log = "phone_accelerometer"

    /// Runs a recorder and a log-manager.
    private func run(
        _ configurations: LogConfiguration..., listeningTo publishers: [FakePublisher], data: FilePath? = nil,
        limit: String = "10s",
        _ body: @escaping @Sendable (RecorderUnderTest, FakeLogManager) async throws -> Void
    ) async throws {
        let manager = try await FakeLogManager()
        for configuration in configurations { manager.set(configuration) }
        try await manager.whileAnswering {
            try await RecorderUnderTest.run(
                listeningTo: publishers, data: data, logManager: manager.endpoint, logManagerLimit: limit
            ) { recorder in try await body(recorder, manager) }
        }
    }

    /// Takes samples, three in each batch, and waits until they are recorded.
    private func sample(_ count: Int, _ publisher: FakePublisher, _ recorder: RecorderUnderTest) async throws {
        for _ in 0..<count {
            try publisher.sample(3)
            try await recorder.hasAll(of: publisher)
        }
    }

    @Test func whatTheRecordingLeavesOpenIsAsLogManagerSays() async throws {
        let publisher = try await FakePublisher()
        let configuration = LogConfiguration(name: Self.log, format: "csv", maximumFileSize: 500)
        try await run(configuration, listeningTo: [publisher]) { recorder, manager in
            try await recorder.start("s", publisher)
            try await recorder.prime(publisher)
            try await sample(20, publisher, recorder)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let files = try #require(result.logs.first?.files)
            #expect(files.count > 2)
            #expect(files.allSatisfy { $0.hasSuffix(".csv") })
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            let record = try recorder.directory().record()
            #expect(record.format == .json && record.logs[0].format == .csv)
            #expect(record.logs[0].maximumFileSize == 500)
            #expect(record.logs[0].maximumFileAge == LogConfiguration.defaultMaximumFileAge)
            #expect(try recorder.directory().summary().streams[0].format == .csv)
            #expect(manager.asked.contains(Self.log))
        }
    }

    @Test func aLogIsOldAfterAsLongAsLogManagerSays() async throws {
        let publisher = try await FakePublisher()
        let configuration = LogConfiguration(name: Self.log, maximumFileSize: 0, maximumFileAge: 0.5)
        try await run(configuration, listeningTo: [publisher]) { recorder, _ in
            try await recorder.start("s", publisher)
            try await recorder.prime(publisher)
            try await eventually("the first file's end") { recorder.events.segments.count >= 1 }
            #expect(try recorder.directory().record().logs[0].maximumFileSize == nil)
        }
    }

    @Test func whatTheRecordingSaysHolds() async throws {
        let publisher = try await FakePublisher()
        let configuration = LogConfiguration(name: Self.log, format: "csv", maximumFileSize: 1, maximumFileAge: 1)
        try await run(configuration, listeningTo: [publisher]) { recorder, _ in
            try await recorder.start("s", publisher, format: "tsv", maximumFileSize: 100_000, maximumFileAge: 1_000)
            try await recorder.prime(publisher)
            try await sample(5, publisher, recorder)
            let files = try #require(try await recorder.stop().logs.first?.files)
            #expect(files.count == 1 && files[0].hasSuffix(".tsv"))
            let log = try recorder.directory().record().logs[0]
            #expect(log.format == nil && log.maximumFileSize == nil && log.maximumFileAge == nil)
            // Only JSON has a root.
            try await recorder.start("t", publisher, root: "dictionary", maximumFileSize: 100_000)
            #expect(try await recorder.stop("t").logs.first?.files.first?.hasSuffix(".json") == true)
        }
    }

    @Test func neverAndUnknownAreTheDefaults() async throws {
        let phone = try await FakePublisher()
        let wrist = try await FakePublisher(StreamName(device: "wrist", stream: "gyro"))
        let configuration = LogConfiguration(name: Self.log, maximumFileSize: 0, maximumFileAge: 0)
        try await run(configuration, listeningTo: [phone, wrist]) { recorder, manager in
            try await recorder.start("s", phone, wrist)
            #expect(Set(manager.asked) == [Self.log, "wrist_gyro"])
            for log in try recorder.directory().record().logs {
                #expect(log.format == nil && log.maximumFileSize == nil && log.maximumFileAge == nil)
            }
            #expect(try await recorder.stop().logs.count == 2)
        }
    }

    /// Each start asks again, because the configuration may just have changed.
    @Test func eachStartAsksAnew() async throws {
        let publisher = try await FakePublisher()
        try await run(listeningTo: [publisher]) { recorder, manager in
            // The recorder asks nothing about a publisher that it has not heard yet.
            try await recorder.start("first", publisher)
            try await recorder.prime(publisher, session: "first")
            for (session, format) in [("a", nil), ("b", "csv"), ("c", "tsv")] {
                if let format { manager.set(LogConfiguration(name: Self.log, format: format)) }
                let reply = try await recorder.start(session, publisher)
                #expect(reply.logs.first?.file == "phone_accelerometer.\(format ?? "json")")
                _ = try await recorder.stop(session)
            }
        }
    }

    @Test func aStreamThatIsMetLaterIsWrittenAsLogManagerSays() async throws {
        let publisher = try await FakePublisher()
        let configuration = LogConfiguration(name: Self.log, format: "csv")
        try await run(configuration, listeningTo: [publisher]) { recorder, manager in
            _ = try await recorder.send(RecordingStart(session: "s", streams: ["phone/", "other/"]))
            #expect(manager.asked == [])
            // The publisher describes its stream until the recorder hears it.
            try await eventually("another stream's log") {
                try publisher.describe { $0.device = "other" }
                return try await !recorder.status().logs.isEmpty
            }
            try publisher.sample(5)
            // The recorder asks exactly once: the log begins with the answer.
            try publisher.describe()
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.log(of: publisher)?.file == "phone_accelerometer.csv")
            #expect(try await recorder.stop().logs.map(\.name).sorted() == ["other_accelerometer", Self.log])
            #expect(try await recorder.records(log: 1).sequences == Array(0..<publisher.next))
        }
    }

    @Test func aLogManagerThatHangsIsNotWaitedFor() async throws {
        let publisher = try await FakePublisher()
        let configuration = LogConfiguration(name: Self.log, format: "csv")
        try await run(configuration, listeningTo: [publisher], limit: "300ms") { recorder, manager in
            let gate = manager.hold()
            let start = ContinuousClock.now
            _ = try await recorder.send(RecordingStart(session: "s", streams: ["phone/"]))
            try publisher.sample(5)
            try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
            #expect(try await recorder.log(of: publisher)?.file == "phone_accelerometer.json")
            // The recorder does not ask again for a while.
            let asked = manager.asked.count
            for session in ["t", "u"] { try await recorder.start(session, publisher) }
            #expect(manager.asked.count == asked || ContinuousClock.now - start > LogConfigurations.life.duration)
            gate.open()
            for session in ["s", "t", "u"] { #expect(try await recorder.stop(session).report.isWhole) }
        }
    }

    /// The log keeps its original configuration, even if a log-manager answers now.
    @Test func aLogThatWasCutOffGoesOnAsItWas() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let configuration = LogConfiguration(name: Self.log, format: "csv", maximumFileSize: 500)
            try await run(configuration, listeningTo: [publisher], data: directory.appending("one")) { recorder, _ in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                try await sample(10, publisher, recorder)
                try await copySession("s", of: recorder, to: directory.appending("two"))
            }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: directory.appending("two")) { recorder in
                try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
                try await recorder.prime(publisher)
                let taken = publisher.next
                try await sample(10, publisher, recorder)
                let result = try await recorder.stop()
                #expect(result.report.isWhole)
                #expect(publisher.next == taken + 30)
                let files = try #require(result.logs.first?.files)
                #expect(files.count > 3 && files.allSatisfy { $0.hasSuffix(".csv") })
                #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            }
        }
    }

    // MARK: Cached answers

    private let name = LogName(LogConfigurationTests.log)
    private let life = LogConfigurations.life.nanoseconds

    @Test func answersAreRememberedForAWhile() {
        var known = LogConfigurations()
        #expect(known.isDue(name, at: 0) && !known.isSettled(name, at: 0))
        var answers = LogConfigurations.Answers()
        answers.configurations[name] = .some(LogConfiguration(name: name.text, format: "csv"))
        known.take(answers, at: 5)
        #expect(known[name]?.format == "csv")
        #expect(!known.isDue(name, at: life + 4) && known.isDue(name, at: life + 5))
        #expect(known.isSettled(name, at: life * 2))
        // A log that was not added is known to have no configuration.
        answers.configurations.updateValue(nil, forKey: name)
        known.take(answers, at: 6)
        #expect(known[name] == nil && known.isSettled(name, at: 6) && !known.isDue(name, at: 7))
    }

    @Test func whoIsAwayIsNotAskedForAWhile() {
        var known = LogConfigurations()
        var answers = LogConfigurations.Answers()
        answers.isAway = true
        known.take(answers, at: 5)
        #expect(known.isAway(at: life + 4) && known.isSettled(name, at: life + 4) && !known.isDue(name, at: life + 4))
        // The recorder asks again, but nothing waits for the answer.
        #expect(known.isAway(at: life + 5) && known.isSettled(name, at: life + 5) && known.isDue(name, at: life + 5))
        #expect(!known.isAway(at: 2 * life + 5) && !known.isSettled(name, at: 2 * life + 5))
        known.take(LogConfigurations.Answers(), at: 6)
        #expect(!known.isAway(at: 6))
    }

    @Test func notMoreThanSoManyAreRemembered() {
        var known = LogConfigurations()
        for number in 0..<10_000 {
            var answers = LogConfigurations.Answers()
            answers.configurations.updateValue(nil, forKey: LogName("log-\(number)"))
            known.take(answers, at: 0)
        }
        let settled = (0..<10_000).count { known.isSettled(LogName("log-\($0)"), at: 0) }
        #expect(settled > 0 && settled <= 4_096)
    }
}
