import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// Requests that are refused, and sessions that fail.
@Suite(.timeLimit(.minutes(1)))
struct StartErrorTests {
    @Test func case57ASessionIsNotStartedTwice() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher)
            #expect(try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"])) == "alreadyRunning")
            _ = try await recorder.stop()
            #expect(try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"])) == "finished")
        }
    }

    @Test func ofTwoStartsAtOnceOneWins() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let outcomes = try await recorder.describing([publisher]) {
                await withTaskGroup(of: String?.self) { tasks in
                    for _ in 0..<4 {
                        tasks.addTask {
                            try? await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"]))
                        }
                    }
                    return await tasks.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(outcomes.filter { $0 == nil }.count == 1)
            #expect(outcomes.filter { $0 == "alreadyRunning" }.count == 3)
            try await recorder.prime(publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    @Test func whatMakesNoSenseIsRefusedAndLeavesNothingBehind() async throws {
        try await RecorderUnderTest.run { recorder in
            #expect(try await recorder.refusal(RecordingStart(streams: ["phone"])) == "invalidParameter")
            #expect(try await recorder.refusal(RecordingStop(session: "none")) == "unknownSession")
            #expect(try await recorder.refusal(RecordingStatus(session: "none")) == "unknownSession")
            #expect(try await recorder.refusal(RecordingMoveTo(session: "none", step: "x")) == "unknownSession")
            #expect(try await recorder.refusal(RecordingStatus(session: "a b")) == "invalidParameter")
            #expect(
                try await recorder.refusal(RecordingStart(session: ".wal", streams: ["phone/"])) == "invalidParameter")
            let list = try await recorder.send(RecordingList())
            #expect(list.recordings.isEmpty)
        }
    }

    @Test func aDirectoryThatIsThereIsNotTouched() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let directory = recorder.data.appending("recordings/old")
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            try Data("a".utf8).write(to: URL(filePath: directory.appending("answers.csv").string))
            let refusal = try await recorder.describing([publisher]) {
                try await recorder.refusal(RecordingStart(session: "old", streams: ["phone/"]))
            }
            #expect(refusal == "finished")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == ["answers.csv"])
        }
    }

    @Test func aPlaceThatCanNotBeWrittenToIsSaid() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            // A file in place of the directory blocks every user, including root.
            let recordings = recorder.data.appending("recordings").string
            try FileManager.default.moveItem(atPath: recordings, toPath: recordings + ".away")
            #expect(FileManager.default.createFile(atPath: recordings, contents: nil))
            let refusal = try await recorder.describing([publisher]) {
                try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"]))
            }
            #expect(refusal != nil && refusal != "-32603")
            #expect(try await recorder.refusal(RecordingStatus(session: "s")) == "unknownSession")
        }
    }

    @Test func aLogThatCanNotBeOpenedFailsTheSession() async throws {
        let publisher = try await FakePublisher()
        let late = try await FakePublisher(StreamName(device: "phone", stream: "gyro"))
        try await RecorderUnderTest.run(listeningTo: [publisher, late]) { recorder in
            try await recorder.start("s", publisher, streams: ["phone/"])
            try await recorder.prime(publisher)
            let inTheWay = try recorder.path("phone_gyro.json")
            #expect(FileManager.default.createFile(atPath: inTheWay.string, contents: nil))
            try late.describe()
            let failure = try await recorder.describing([late]) { try await recorder.events.recording(.failure) }
            #expect(failure.status == "failed")
            #expect(failure.reason?.contains("phone_gyro.json") == true)
            let report = try #require(try await recorder.events.recording(.report).report)
            #expect(report.status == "failed")
            #expect(!report.isWhole)
            #expect(report.failures.count == 1)
            // The samples so far are intact, and the recorder continues to work.
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            #expect(try await recorder.status().status == "failed")
            #expect(try recorder.directory().report() == report)
            #expect(recorder.outcome() == .doneWithLoss)
            try await recorder.start("next", publisher)
            #expect(try await recorder.stop("next").status == "finished")
        }
    }

    @Test(arguments: [true, false])
    func aSessionWhoseDirectoryIsGoneFailsOnce(isCancelled: Bool) async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            // Immediately, even while the recorder writes into the directory.
            try FileManager.default.moveItem(
                atPath: recorder.directory().directory.path.string, toPath: recorder.data.appending("gone").string)
            if isCancelled {
                // The request is refused if the recorder has already noticed the loss.
                let refusal = try await recorder.refusal(RecordingCancel(session: "s"))
                #expect(refusal == nil || refusal == "finished")
            } else {
                #expect(try await recorder.refusal(RecordingMoveTo(session: "s", step: "x")) != nil)
            }
            let report = try #require(try await recorder.events.recording(.report).report)
            #expect(report.status == "failed")
            #expect(recorder.events.recordings.filter { $0.change == .failure }.count == 1)
            #expect(recorder.events.recordings.last?.change == .report)
            // The report can't be stored, so the recorder itself returns it.
            #expect(try await recorder.status().status == "failed")
            #expect(try await recorder.stop().report == report)
            #expect(try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"])) == "finished")
            #expect(try await recorder.refusal(RecordingCancel(session: "s")) == "finished")
            #expect(try await recorder.refusal(RecordingSetResults(session: "s", results: .object([:]))) == "finished")
            #expect(recorder.outcome() == .doneWithLoss)
        }
    }

    @Test func oneDamagedSessionDoesNotHideTheOthers() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("a", publisher)
            _ = try await recorder.stop("a")
            let damaged = recorder.data.appending("recordings/b")
            try FileManager.default.createDirectory(atPath: damaged.string, withIntermediateDirectories: true)
            #expect(
                FileManager.default.createFile(atPath: damaged.appending("session.json").string, contents: Data([1])))
            #expect(try await recorder.send(RecordingList()).recordings.map(\.session) == ["a"])
        }
    }

    @Test func nothingStartsOnceTheProgramEnds() async throws {
        let publisher = try await FakePublisher()
        let gate = Gate()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher)
            publisher.onList { await gate.pass() }
            await recorder.shutDown()
            try await recorder.events.recording(.status) { $0.status == "waitingToStop" }
            #expect(try await recorder.refusal(RecordingStart(session: "t", streams: ["phone/"])) == "stopping")
            gate.open()
            try await recorder.events.recording(.report)
        }
    }
}
