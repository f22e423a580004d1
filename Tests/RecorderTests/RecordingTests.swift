import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import SessionOverview
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Whole sessions, over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct RecordingTests {
    private let watch = StreamName(device: "watch", stream: "accelerometer")

    @Test(arguments: [
        ("json", "array", false), ("json", "dictionary", true), ("csv", "array", false), ("csv", "array", true),
        ("tsv", "array", true),
    ])
    func aSessionIsRecorded(format: String, root: String, isPacked: Bool) async throws {
        let publisher = try await FakePublisher(isPacked: isPacked)
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try publisher.sample(7)
            let started = try await recorder.start("s", publisher, format: format, root: root, step: "out")
            #expect(started.status == "running")
            #expect(started.logs.map(\.stream) == [publisher.name])
            try await recorder.prime(publisher)
            for count in 1...30 { try publisher.sample(count) }
            try await recorder.has(publisher.next - 7, of: publisher)
            let result = try await recorder.stop()
            #expect(result.status == "finished")
            let stream = try #require(result.report.streams.first)
            #expect(result.report.isWhole)
            #expect(stream.isEndKnown)
            #expect(stream.expected == publisher.next - 7)
            #expect(stream.received == stream.expected)
            #expect(result.logs.map(\.samples) == [publisher.next - 7])
            #expect(result.report.commitLatency.count > 0)

            let records = try await recorder.records()
            #expect(records.sequences == Array(7..<publisher.next))
            #expect(records.markers == ["start", "stop"])
            #expect(records.first?.timestamp == 0)
            #expect(records.allSatisfy { $0.stepPath == "Walk/out" })
            #expect(records.first { $0.isSample }?.sensorType == "accelerometer")
            let file = try #require(result.logs.first?.files.first)
            #expect(file.hasPrefix("phone_accelerometer-") && file.hasSuffix(".\(format)"))
            #expect(recorder.outcome() == .done)
        }
    }

    @Test func theReportIsTheReplyTheFileAndTheEvent() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let result = try await recorder.stop()
            #expect(try recorder.directory().report() == result.report)
            #expect(try await recorder.events.recording(.report).report == result.report)
            #expect(try await recorder.send(RecordingResultRequest(session: "s")) == result)
            // Stopping a stopped session is not an error.
            #expect(try await recorder.stop() == result)
        }
    }

    @Test func theReportCountsHowLongItTookToDisk() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let latency = try await recorder.stop().report.commitLatency
            let buckets = try #require(latency.buckets)
            #expect(buckets.map(\.bound) == buckets.map(\.bound).sorted())
            #expect(buckets.map(\.count) == buckets.map(\.count).sorted())
            #expect(buckets.last?.count == latency.count)

            let page = try SessionPage.html(of: recorder.directory())
            let title = "<h3>Time from publication to disk</h3>"
            let bars = try #require(page.components(separatedBy: title).last?.components(separatedBy: "</svg>").first)
            let counts = [0] + buckets.map(\.count)
            let filled = zip(counts, counts.dropFirst()).filter { $0 < $1 }.count
            #expect(bars.components(separatedBy: "<rect").count - 1 == filled)
        }
    }

    @Test func finishedFilesAreAnnouncedWithTheirDigests() async throws {
        let publishers = [try await FakePublisher(), try await FakePublisher(watch)]
        try await RecorderUnderTest.run(listeningTo: publishers) { recorder in
            try await recorder.start("s", publishers[0], publishers[1])
            try await recorder.prime(publishers[0], publishers[1])
            _ = try await recorder.stop()
            try await recorder.events.recording(.report)
            let segments = recorder.events.segments
            #expect(segments.map(\.log).sorted() == ["phone_accelerometer", "watch_accelerometer"])
            for segment in segments {
                let (bytes, digest) = try FinishedFile.measure(recorder.data.appending(segment.path))
                #expect(segment.bytes == bytes)
                #expect(segment.sha256 == digest)
                #expect(segment.sequence == 0)
                #expect(try LogItem.read(recorder.data.appending(segment.path)).sequences.count == segment.samples)
            }
            // Each topic has its own sequence, so that subscribers do not take a segment for a lost event.
            #expect(recorder.events.recordings.map(\.sequence) == Array(0..<recorder.events.recordings.count))
            #expect(
                recorder.events.recordings.filter { $0.change == .status }.map(\.status)
                    == ["running", "waitingToStop", "processingResults", "finished"])
        }
    }

    @Test func markersSayWhatHappenedAndSamplesHaveTheirOwnTimesStep() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, step: "out")
            try await recorder.prime(publisher)
            let early = Double(MonotonicClock.now) / 1e9
            #expect(try await recorder.send(RecordingMoveTo(session: "s", step: "turn")).step == "Walk/turn")
            try publisher.sample(2)
            try publisher.sample(uptime: early)
            #expect(try await recorder.send(RecordingMoveTo(session: "s", step: nil)).step == "Walk")
            try publisher.sample()
            try await recorder.hasAll(of: publisher)
            _ = try await recorder.stop()
            let records = try await recorder.records()
            #expect(records.markers == ["start", "step", "step", "stop"])
            #expect(records.filter { $0.marker == "step" }.map(\.stepPath) == ["Walk/turn", "Walk"])
            #expect(
                records.filter(\.isSample).suffix(4).map(\.stepPath) == ["Walk/turn", "Walk/turn", "Walk/out", "Walk"])
            #expect(try recorder.directory().record().steps.map(\.step) == ["turn", ""])
        }
    }

    @Test func samplesTakenInAPauseAreLeftOut() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let first = publisher.next
            #expect(try await recorder.send(RecordingPause(session: "s")).paused)
            #expect(try await recorder.send(RecordingPause(session: "s")).paused)
            try publisher.sample(5)
            #expect(try await !recorder.send(RecordingResume(session: "s")).paused)
            #expect(try await !recorder.send(RecordingResume(session: "s")).paused)
            try publisher.sample(2)
            try await recorder.has(first + 2, of: publisher)
            let report = try await recorder.stop().report
            let records = try await recorder.records()
            #expect(records.sequences == Array(0..<first) + [first + 5, first + 6])
            #expect(records.markers == ["start", "pause", "resume", "position", "stop"])
            #expect(report.isWhole)
            #expect(report.streams.first?.paused == 5)
            #expect(report.streams.first?.expected == first + 7)
            #expect(try recorder.directory().record().pauses.count == 1)
            try await recorder.events.recording(.report)
            #expect(recorder.events.recordings.filter { $0.change == .pause }.count == 1)
        }
    }

    @Test func case58WhatWasPublishedJustBeforeTheStopIsInTheLog() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            // More samples than can have been recorded when the request arrives.
            for _ in 0..<800 { try publisher.sample(100) }
            let result = try await recorder.stop()
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            #expect(result.report.isWhole)
        }
    }

    @Test func case57ACancelledSessionHasValidFiles() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let state = try await recorder.send(RecordingCancel(session: "s"))
            #expect(state.status == "cancelled")
            #expect(state.logs.map(\.samples) == [publisher.next])
            #expect(try await recorder.records().markers == ["start", "stop"])
            #expect(try await recorder.status().status == "cancelled")
            #expect(try await recorder.refusal(RecordingPause(session: "s")) == "finished")
            #expect(try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"])) == "finished")
            // The session has no result.
            #expect(try await recorder.refusal(RecordingResultRequest(session: "s")) == "finished")
            #expect(try await recorder.refusal(RecordingStop(session: "s")) == "finished")
        }
    }

    @Test func aNameThatIsFinishedIsSaidToBe() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            _ = try await recorder.stop()
            let request = RecordingStart(session: "s", streams: [publisher.name.description])
            let error = try await recorder.describing([publisher]) {
                try await #require(throws: RequestError.self) { try await recorder.sendBeside(request) }
            }
            #expect(error.data?.reason == "finished")
            #expect(error.message.contains("it is finished"), "\(error.message)")
        }
    }

    @Test func aStatusSaysWhatWasAskedForAndWhereItIs() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let keys = JSONValue.object(["schedule": .string("w48")])
            let request = RecordingStart(
                session: "s", task: "Walk", step: "out", streams: [publisher.name.description], format: "csv",
                maximumFileSize: 1_000_000, duration: 600, keys: keys)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            let state = try await recorder.send(RecordingMoveTo(session: "s", step: "back"))
            #expect(state.step == "Walk/back")
            #expect(state.task == "Walk")
            #expect(state.currentStep == "back")
            #expect(state.keys == keys)
            #expect(
                state.configuration
                    == RecordingState.Configuration(
                        streams: [publisher.name.description], format: "csv", maximumFileSize: 1_000_000, duration: 600)
            )
            #expect(state.endDate == nil)
            _ = try await recorder.stop()
            let stored = try await recorder.status()
            #expect(stored.configuration == state.configuration)
            #expect(stored.keys == keys)
            #expect(stored.endDate != nil)
        }
    }

    @Test func aListHasPages() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            for name in ["c", "a", "b"] {
                try await recorder.start(name, publisher)
                _ = try await recorder.stop(name)
            }
            func page(after: String?, _ limit: Int?) async throws -> RecordingList.Reply {
                try await recorder.send(RecordingList(after: after, limit: limit))
            }
            let first = try await page(after: nil, 2)
            #expect(first.recordings.map(\.session) == ["c", "a"])
            #expect(first.more == true)
            let second = try await page(after: "a", 2)
            #expect(second.recordings.map(\.session) == ["b"])
            #expect(second.more == nil)
            #expect(try await page(after: nil, nil).recordings.count == 3)
            #expect(try await recorder.refusal(RecordingList(after: "x", limit: 1)) == "invalidParameter")
            #expect(try await recorder.refusal(RecordingList(limit: 0)) == "invalidParameter")
        }
    }

    @Test func whatWaitsWhenASessionIsCancelledIsWrittenBehindItsGap() async throws {
        try await RecorderUnderTest.record(recoveryLimit: "20s") { recorder, publisher in
            let first = publisher.next
            let gate = publisher.gateReplays()
            let asked = publisher.replaysAsked
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            try await eventually("a request for the missing samples") { publisher.replaysAsked > asked }
            _ = try await recorder.send(RecordingCancel(session: "s"))
            let records = try await recorder.records()
            #expect(records.lost == [first..<first + 2])
            #expect(records.sequences == Array(0..<first) + [first + 2, first + 3, first + 4])
            let log = try #require(recorder.directory().record().logs.first)
            #expect(log.counts.written == first + 3)
            #expect(log.epochs.map(\.next) == [first + 5])
            gate.open()
        }
    }

    @Test func aSessionStopsAtItsDuration() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let start = ContinuousClock.now
            try await recorder.start("s", publisher, duration: 0.2)
            let report = try await recorder.events.recording(.report)
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            #expect(report.status == "finished")
            #expect(try await recorder.status().status == "finished")
        }
    }

    @Test func filesAreValidAfterEachWrite() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, root: "dictionary")
            try await recorder.prime(publisher)
            let file = try recorder.path("phone_accelerometer.json")
            for count in 1...40 {
                try publisher.sample(count)
                try await recorder.hasAll(of: publisher)
                // Files are written after the log; a read during a write may see half of it.
                try await eventually("all samples in the file") {
                    (try? LogItem.read(file))?.sequences == Array(0..<publisher.next)
                }
            }
            #expect(try recorder.directory().record().status == .running)
            _ = try await recorder.stop()
        }
    }

    @Test func severalSessionsRecordTheSameStream() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("a", publisher)
            try await recorder.prime(publisher, session: "a")
            let first = publisher.next
            try await recorder.start("b", publisher, format: "csv")
            // A third session fails to start: the others keep their subscription.
            #expect(try await recorder.refusal(RecordingStart(session: "b", streams: ["phone/"])) == "alreadyRunning")
            try publisher.sample(10)
            try await recorder.hasAll(of: publisher, session: "a")
            try await recorder.has(publisher.next - first, of: publisher, session: "b")
            _ = try await recorder.stop("b")
            // The end of one session leaves the other its subscription: these samples arrive although no description is
            // published.
            try publisher.sample(4)
            try await recorder.hasAll(of: publisher, session: "a")
            _ = try await recorder.stop("a")
            #expect(try await recorder.records("a").sequences == Array(0..<publisher.next))
            #expect(try await recorder.records("b").sequences == Array(first..<first + 10))
        }
    }

    @Test func allStopsWaitForTheOneUnderWay() async throws {
        try await RecorderUnderTest.record(recoveryLimit: "20s") { recorder, publisher in
            let gate = publisher.gateReplays()
            try publisher.sample(2, isLost: true)
            try publisher.sample()
            async let first = recorder.stop()
            try await recorder.events.recording(.status) { $0.status == "waitingToStop" }
            let second = Task { try await recorder.stop() }
            #expect(try await recorder.refusal(RecordingMoveTo(session: "s", step: "x")) == "finished")
            #expect(try await recorder.refusal(RecordingResultRequest(session: "s")) == "notRunning")
            gate.open()
            #expect(try await first == second.value)
            #expect(recorder.events.recordings.filter { $0.change == .report }.count <= 1)
        }
    }

    @Test func aStreamThatComesLaterIsRecordedFromItsFirstSample() async throws {
        let early = try await FakePublisher()
        let late = try await FakePublisher(StreamName(device: "phone", stream: "gyro"))
        try await RecorderUnderTest.run(listeningTo: [early, late]) { recorder in
            let before = Double(MonotonicClock.now) / 1e9 - 5
            try await recorder.start("s", early, streams: ["phone/"], step: "out")
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "back"))
            _ = try await recorder.send(RecordingPause(session: "s"))
            _ = try await recorder.send(RecordingResume(session: "s"))
            // Three samples from before the session, two from within it.
            try late.sample(3, uptime: before)
            try late.sample(2)
            try await recorder.describing([late]) { try await recorder.has(2, of: late) }
            try late.sample(2)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let records = try await recorder.records(log: 1)
            #expect(records.sequences == [3, 4, 5, 6])
            // The log includes what happened before the stream appeared, and a marker that its first sample is number 3.
            #expect(records.markers == ["start", "step", "pause", "resume", "position", "stop"])
            #expect(records.filter { $0.marker != nil }.map(\.stepPath).first == "Walk/out")
        }
    }

    @Test func aStreamThatNeverCameIsAFailure() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, streams: ["phone/", "watch/gyro"])
            let report = try await recorder.stop().report
            #expect(!report.isWhole)
            #expect(report.failures.count == 1)
            #expect(report.failures.first?.contains("watch/gyro") == true)
            #expect(recorder.outcome() == .doneWithLoss)
        }
    }

    @Test func theProgramsEndStopsEverySession() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { data in
            try await RecorderUnderTest.run(listeningTo: [publisher], data: data) { recorder in
                try await recorder.start("a", publisher)
                try await recorder.start("b", publisher)
                try await recorder.prime(publisher, session: "a")
                try publisher.sample(50)
                await recorder.shutDown()
                try await recorder.events.recording(.report, of: "a")
                try await recorder.events.recording(.report, of: "b")
            }
            try await RecorderUnderTest.run(data: data) { recorder in
                let list = try await recorder.send(RecordingList()).recordings
                #expect(list.map(\.session).sorted() == ["a", "b"])
                #expect(list.allSatisfy { $0.status == "finished" && $0.endDate != nil })
                #expect(try await recorder.records("a").sequences == Array(0..<publisher.next))
                let result = try await recorder.send(RecordingResultRequest(session: "b"))
                #expect(result.report.isWhole)
                let status = try await recorder.status("a")
                #expect(status.logs.map(\.samples) == [publisher.next])
                #expect(try await recorder.refusal(RecordingStart(session: "a", streams: ["phone/"])) == "finished")
                #expect(try await recorder.stop("a").status == "finished")
            }
        }
    }

    /// In such a directory, each recorded file has a second name, and log-manager does not mark a file with two names.
    @Test func theStartRemovesWhatKilledFillsLeft() async throws {
        try await withTemporaryDirectory { data in
            let recordings = SessionDirectory.recordings(in: data)
            for name in [".walk-1~filling", ".walk-1~fetched", ".walk-2~filling", ".walk-3~other"] {
                let left = Directory(recordings.path.appending(name))
                try left.create()
                try left.replace("phone_gyro.json", with: [1])
            }
            // A fill is at work on this session.
            let busy = try SessionIdentifier("walk-2")
            let lock = try SessionRewrite.lock(
                SessionDirectory(of: busy, madeAt: recordings.path.appending(busy.text)))
            try await RecorderUnderTest.run(data: data) { _ in }
            withExtendedLifetime(lock) {}
            let left = try recordings.names().filter { $0.contains("~") }.sorted()
            #expect(left == [".walk-2~filling", ".walk-3~other"])
        }
    }
}
