import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// Several recorders share a data directory, each with some of the devices. Of two shards, `left-wrist` is in the first and
/// `phone` in the second.
@Suite(.timeLimit(.minutes(1)))
struct ShardedRecorderTests {
    private static func wrist() async throws -> FakePublisher {
        try await FakePublisher(StreamName(device: "left-wrist", stream: "accelerometer"))
    }

    /// Runs the recorders of both shards.
    private func runBoth(
        _ wrist: FakePublisher, _ phone: FakePublisher,
        _ body: @escaping @Sendable (RecorderUnderTest, RecorderUnderTest) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { data in
            try await RecorderUnderTest.run(listeningTo: [wrist], data: data, shard: "1/2") { first in
                try await RecorderUnderTest.run(listeningTo: [phone], data: data, shard: "2/2") { second in
                    try await body(first, second)
                }
            }
        }
    }

    @Test func eachRecordsItsOwnDevices() async throws {
        let (wrist, phone) = (try await Self.wrist(), try await FakePublisher())
        try await runBoth(wrist, phone) { first, second in
            try await first.start("w", wrist)
            try await second.start("p", phone)
            try await first.prime(wrist, session: "w")
            try await second.prime(phone, session: "p")
            #expect(try first.directory("w").record().shard == Shard(rawValue: "1/2"))
            #expect(try second.directory("p").record().shard == Shard(rawValue: "2/2"))
            for (recorder, own, other) in [(first, "w", "p"), (second, "p", "w")] {
                #expect(try await recorder.send(RecordingList()).recordings.map(\.session) == [own])
                #expect(try await recorder.refusal(RecordingStatus(session: other)) == "unknownSession")
                #expect(try await recorder.refusal(RecordingStop(session: other)) == "unknownSession")
                #expect(try await recorder.refusal(RecordingMoveTo(session: other, step: "x")) == "unknownSession")
                #expect(try await recorder.refusal(RecordingResultRequest(session: other)) == "unknownSession")
            }
            #expect(try await first.stop("w").report.isWhole)
            #expect(try await second.stop("p").report.isWhole)
            // Every recorder can read finished sessions.
            for recorder in [first, second] {
                #expect(try await recorder.send(RecordingList()).recordings.map(\.session).sorted() == ["p", "w"])
                #expect(try await recorder.send(RecordingResultRequest(session: "w")).report.isWhole)
                #expect(try await recorder.status("p").status == "finished")
            }
        }
    }

    /// Both recorders hear both publishers and are asked for everything; each records only its own devices.
    @Test func eachTakesItsOwnOfAllDevices() async throws {
        let (wrist, phone) = (try await Self.wrist(), try await FakePublisher())
        let both = [wrist, phone]
        try await withTemporaryDirectory { data in
            for (shard, own) in [("1/2", [wrist]), ("2/2", [phone]), (nil, both)] {
                let session = "s\(shard?.prefix(1) ?? "")"
                try await RecorderUnderTest.run(listeningTo: both, data: data, shard: shard) { recorder in
                    try await recorder.start(session, wrist, phone, streams: ["*"])
                    try await recorder.describing(both) {
                        try await eventually("the logs") {
                            try await recorder.status(session).logs.count == own.count
                        }
                    }
                    for publisher in own { try await recorder.prime(publisher, session: session) }
                    let result = try await recorder.stop(session)
                    #expect(result.report.isWhole, "\(result.report)")
                    #expect(result.report.streams.map(\.stream.device).sorted() == own.map(\.name.device).sorted())
                }
            }
        }
    }

    /// A recorder that owns none of the devices records nothing, which is not an error.
    @Test func aPartMayBeEmpty() async throws {
        let phone = try await FakePublisher()
        try await withTemporaryDirectory { data in
            for (shard, isWhole) in [("1/2", true), (nil, false)] {
                try await RecorderUnderTest.run(data: data, shard: shard) { recorder in
                    let session = isWhole ? "part" : "all"
                    try await recorder.start(session, phone, streams: ["*"])
                    #expect(try await recorder.stop(session).report.isWhole == isWhole)
                }
            }
        }
    }

    @Test func devicesOfOtherShardsAreRefused() async throws {
        let (wrist, phone) = (try await Self.wrist(), try await FakePublisher())
        try await runBoth(wrist, phone) { first, second in
            for streams in [["phone/accelerometer"], ["phone/"], ["left-wrist/", "phone/"]] {
                let request = RecordingStart(session: "s", streams: streams)
                let error = try await #require(throws: RequestError.self) { try await first.sendBeside(request) }
                #expect(error.data?.reason == "unknownStream")
                #expect(
                    error.message.hasSuffix(
                        "is for the recorder with shard 2/2, and this one has shard 1/2: ask that one"))
            }
            #expect(try SessionDirectory.sessions(in: first.data) == [])
            try await second.start("s", phone, streams: ["phone/"])
        }
    }

    @Test func aSessionsNameIsTakenForAll() async throws {
        let (wrist, phone) = (try await Self.wrist(), try await FakePublisher())
        try await runBoth(wrist, phone) { first, second in
            try await second.start("s", phone)
            let request = RecordingStart(session: "s", streams: ["left-wrist/"])
            let error = try await first.describing([wrist]) {
                try await #require(throws: RequestError.self) { try await first.sendBeside(request) }
            }
            #expect(error.data?.reason == "alreadyRunning")
            #expect(
                error.message
                    == "session s is recorded by the recorder with shard 2/2: start one of another name")
            _ = try await second.stop("s")
            let refusal = try await first.describing([wrist]) { try await first.refusal(request) }
            #expect(refusal == "finished")
        }
    }

    @Test func aRecorderWithoutAShardIsAlone() async throws {
        try await withTemporaryDirectory { data in
            try await RecorderUnderTest.run(data: data, shard: "1/2") { _ in
                for shard in [nil, "1/2"] {
                    let error = try await #require(throws: ServiceError.self) {
                        try await RecorderUnderTest.run(data: data, shard: shard) { _ in }
                    }
                    #expect(error.description.contains("uses it"))
                }
                try await RecorderUnderTest.run(data: data, shard: "2/2") { _ in }
            }
            try await RecorderUnderTest.run(data: data) { _ in
                await #expect(throws: ServiceError.self) {
                    try await RecorderUnderTest.run(data: data, shard: "1/2") { _ in }
                }
            }
        }
    }

    /// An interrupted session waits for a recorder of the same shard, or one without shards.
    @Test(arguments: ["2/2", nil])
    func aSessionThatWasCutOffIsItsShards(shard: String?) async throws {
        let phone = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let data = directory.appending("two")
            try await RecorderUnderTest.run(
                listeningTo: [phone], data: directory.appending("one"), shard: "2/2"
            ) { recorder in
                try await recorder.start("s", phone)
                try await recorder.prime(phone)
                try publisherSample(phone)
                try await recorder.hasAll(of: phone)
                try await copySession("s", of: recorder, to: data)
            }
            for other in ["1/2", "1/3"] {
                try await RecorderUnderTest.run(listeningTo: [phone], data: data, shard: other) { recorder in
                    let list = try await recorder.send(RecordingList())
                    #expect(list.recordings == [])
                    #expect(try await recorder.refusal(RecordingStatus(session: "s")) == "unknownSession")
                }
                #expect(try SessionDirectory.open(SessionIdentifier("s"), in: data).record().restarts == [])
            }
            try await RecorderUnderTest.run(listeningTo: [phone], data: data, shard: shard) { recorder in
                try publisherSample(phone)
                try await recorder.describing([phone]) { try await recorder.hasAll(of: phone) }
                let result = try await recorder.stop()
                #expect(result.report.isWhole && result.report.restarts?.count == 1)
                #expect(try await recorder.records().sequences == Array(0..<phone.next))
                #expect(try recorder.directory().record().shard == Shard(rawValue: "2/2"))
            }
        }
    }

    /// After a power cut, only the shard's write-ahead log may have the latest samples and annotations.
    @Test func aRecorderWithoutAShardUsesTheShardsLog() async throws {
        let phone = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let data = directory.appending("two")
            let shard = try #require(Shard(rawValue: "2/2"))
            try await RecorderUnderTest.run(
                listeningTo: [phone], data: directory.appending("one"), shard: "2/2"
            ) { recorder in
                try await recorder.start("s", phone)
                try await recorder.prime(phone)
                try await eventually("session.json") { try !recorder.directory().record().logs.isEmpty }
                try await copySession("s", of: recorder, to: data)
                try phone.sample(50)
                try await recorder.hasAll(of: phone)
                // Once this request is answered, everything before it is in the log.
                _ = try await recorder.send(RecordingAnnotate(session: "s", label: "fall"))
                try FileManager.default.copyItem(
                    atPath: WriteAheadLog.directory(in: recorder.data, shard: shard).path.string,
                    toPath: WriteAheadLog.directory(in: data, shard: shard).path.string)
            }
            // No publisher has the samples.
            try await RecorderUnderTest.run(data: data) { recorder in
                try await recorder.hasAll(of: phone)
                let report = try await recorder.stop().report
                #expect(report.annotations?.map(\.label) == ["fall"])
                #expect(!report.failures.contains { $0.contains("write-ahead log") }, "\(report.failures)")
                #expect(try await recorder.records().sequences == Array(0..<phone.next))
            }
        }
    }

    private func publisherSample(_ publisher: FakePublisher) throws {
        for _ in 0..<5 { try publisher.sample(3) }
    }
}
