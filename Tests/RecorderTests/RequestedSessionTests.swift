import Files
import Messages
import RecorderCore
import Recording
import ServiceKit
import Testing

/// What a client may request of a new session, and the record that follows from it.
@Suite struct RequestedSessionTests {
    private static let now = WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000)

    private func asked(_ request: RecordingStart, shard: Shard? = nil) throws -> RequestedSession {
        try RequestedSession(request, shard: shard, at: Self.now, random: 0x16EA)
    }

    @Test(arguments: [
        (RecordingStart(streams: []), "streams is empty"),
        (RecordingStart(streams: [""]), "names no stream"),
        (RecordingStart(streams: ["/"]), "names no stream"),
        (RecordingStart(streams: ["phone"]), "names no stream"),
        (RecordingStart(streams: ["phone//"]), "names no stream"),
        (RecordingStart(streams: ["a/b/c"]), "names no stream"),
        (RecordingStart(streams: ["phone/", "/x"]), "names no stream"),
        (RecordingStart(streams: (0...500).map { "device-\($0)/" }), "streams has 501 names"),
        (RecordingStart(streams: ["a/"], format: "xml"), "is not a format"),
        (RecordingStart(streams: ["a/"], root: "tree"), "is not a root"),
        (RecordingStart(streams: ["a/"], duration: 0), "duration is 0"),
        (RecordingStart(streams: ["a/"], duration: -1), "duration is -1"),
        (RecordingStart(streams: ["a/"], duration: 1e300), "duration is 1e+300"),
        (RecordingStart(streams: ["a/"], duration: .nan), "duration is nan"),
        (RecordingStart(streams: ["a/"], duration: 1, until: now), "duration and until"),
        (RecordingStart(streams: ["a/"], maximumFileSize: 0), "maximumFileSize is 0"),
        (RecordingStart(streams: ["a/"], maximumFileAge: 0.1), "maximumFileAge is 0.1"),
        (RecordingStart(streams: ["a/"], maximumFileAge: .infinity), "maximumFileAge is inf"),
        (RecordingStart(streams: ["a/"], keep: 0.5), "keep is 0.5"),
        (RecordingStart(streams: ["a/"], resultsWithin: 86_401), "resultsWithin is 86401"),
        (RecordingStart(streams: ["a/"], before: 0), "before is 0"),
        (RecordingStart(streams: ["a/"], before: 1, from: now), "before and from"),
        (RecordingStart(streams: ["a/"], from: now.adding(-32 * 86_400_000_000_000)), "the last 31 days"),
        (RecordingStart(streams: ["a/"], keys: .string("x")), "keys is not an object"),
        (
            RecordingStart(streams: ["a/"], keys: .object(["x": .string(String(repeating: "x", count: 17_000))])),
            "keys has 17008 bytes"
        ),
        (RecordingStart(task: String(repeating: "x", count: 257), streams: ["a/"]), "task has 257 bytes"),
        (RecordingStart(step: String(repeating: "é", count: 129), streams: ["a/"]), "step has 258 bytes"),
    ])
    func whatMakesNoSenseIsRefused(request: RecordingStart, sentence: String) throws {
        let error = try #require(throws: RequestError.self) { try asked(request) }
        #expect(error.data?.reason == "invalidParameter")
        #expect(error.message.contains(sentence), "\(error.message)")
    }

    @Test func aStreamOfAnotherShardIsRefusedWithTheRecorderToAsk() throws {
        let shards = try (1...2).map { try #require(Shard(rawValue: "\($0)/2")) }
        let owner = Shard(of: "phone", count: 2)
        let other = try #require(shards.first { $0 != owner })
        let error = try #require(throws: RequestError.self) {
            try asked(RecordingStart(streams: ["*", "phone/"]), shard: other)
        }
        #expect(error.data?.reason == "unknownStream")
        #expect(error.message.contains("shard \(owner)"))
        #expect(try asked(RecordingStart(streams: ["*", "phone/"]), shard: owner).streams == ["*", "phone/"])
    }

    @Test func aSessionWithoutANameIsNamedByItsTime() throws {
        #expect(try asked(RecordingStart(streams: ["*"])).identifier.text == "20270115T080000Z-16ea")
        #expect(try asked(RecordingStart(session: "mine", streams: ["*"])).identifier.text == "mine")
        for name in ["", "../x"] {
            #expect(throws: RecordingError.self) { try asked(RecordingStart(session: name, streams: ["*"])) }
        }
    }

    @Test func theRecordSaysWhatWasAskedFor() throws {
        let plain = try asked(RecordingStart(streams: ["*"])).record(at: Self.now)
        #expect(plain.startDate == Self.now)
        #expect(plain.limits == SessionRecord.Limits())
        #expect(plain.isFormatDefault == true)
        let past = try asked(
            RecordingStart(
                task: "Walk", step: "out", streams: ["a/"], format: "csv", resultsWithin: 3,
                from: Self.now.adding(-5_000_000_000), keep: 48, until: Self.now.adding(-1_000_000_000))
        ).record(at: Self.now)
        #expect(past.startDate == Self.now.adding(-5_000_000_000))
        #expect(past.limits.before == 5)
        #expect(past.limits.duration == 0.001, "an end that has passed is now")
        #expect(past.limits.maximumFileAge == 2, "a ring has 24 files")
        #expect((past.task, past.step, past.limits.resultsWithin) == ("Walk", "out", 3))
        #expect(past.isFormatDefault == nil)
    }

    /// A future start is replaced by the moment of the actual start.
    @Test func aBeginningThatHasNotComeYetIsNow() throws {
        let later = try asked(RecordingStart(streams: ["a/"], from: Self.now.adding(2_000_000_000)))
        #expect(later.record(at: Self.now).startDate == Self.now)
        #expect(later.record(at: Self.now).limits.before == nil)
        let past = later.record(at: Self.now.adding(3_000_000_000))
        #expect(past.startDate == Self.now.adding(2_000_000_000))
        #expect(past.limits.before == 1)
    }

    @Test func anEndLongAgoIsNow() throws {
        let longAgo = try WallTime(iso8601: "1700-01-01T00:00:00Z")
        let record = try asked(RecordingStart(streams: ["a/"], until: longAgo)).record(at: Self.now)
        let duration = try #require(record.limits.duration)
        #expect(duration > 0 && duration <= 1)
    }
}
