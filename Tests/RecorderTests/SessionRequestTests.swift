import Messages
import RecorderCore
import Recording
import Testing

/// Requests that concern sessions, checked without a recorder.
@Suite
struct SessionRequestTests {
    private let sessions = (0..<5).map { number in
        RecordingList.Entry(
            session: "s\(number)", status: "finished", startDate: WallTime(nanosecondsSince1970: Int64(number)),
            endDate: nil)
    }

    @Test func aListComesInPages() throws {
        let first = try RecordingList(limit: 2).page(of: sessions.reversed())
        #expect(first == RecordingList.Reply(recordings: Array(sessions[..<2]), more: true))
        let second = try RecordingList(after: "s1", limit: 2).page(of: sessions)
        #expect(second == RecordingList.Reply(recordings: Array(sessions[2..<4]), more: true))
        let last = try RecordingList(after: "s3", limit: 2).page(of: sessions)
        #expect(last == RecordingList.Reply(recordings: [sessions[4]], more: nil))
        #expect(try RecordingList().page(of: sessions).recordings == sessions)
        #expect(try RecordingList(after: "s4").page(of: sessions).recordings.isEmpty)
    }

    @Test func aPageThatCannotBeIsRefused() throws {
        let gone = #expect(throws: RequestError.self) { try RecordingList(after: "s9").page(of: sessions) }
        #expect(gone?.message == "there is no session 's9' any more: list from the beginning again")
        for limit in [0, -1, RecordingList.maximumLimit + 1] {
            let refusal = #expect(throws: RequestError.self) { try RecordingList(limit: limit).check() }
            #expect(refusal?.message == "limit is \(limit): write 1 to \(RecordingList.maximumLimit)")
        }
    }

    private func record(_ status: SessionStatus, shard: Shard? = nil) throws -> SessionRecord {
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "T", step: "", streams: ["phone/"], format: .json, root: .array,
            status: status, startDate: WallTime(nanosecondsSince1970: 0))
        record.shard = shard
        return record
    }

    @Test func anotherShardsSessionIsItsOwnUntilItIsOver() throws {
        let (mine, other) = (Shard(of: "a", count: 64), Shard(of: "b", count: 64))
        try #require(mine != other)
        for status in [SessionStatus.starting, .running] {
            let running = try record(status, shard: other)
            #expect(running.isAvailable(to: other) && !running.isAvailable(to: mine) && running.isAvailable(to: nil))
            #expect(throws: RequestError.self) { try running.checkAvailable(to: mine) }
            #expect(throws: RequestError.self) { try running.checkUntaken(by: mine) }
            #expect(throws: RequestError.self) { try running.checkAnnotatable(by: other) }
        }
        let over = try record(.finished, shard: other)
        try over.checkAvailable(to: mine)
        try over.checkAnnotatable(by: other)
        let refusal = #expect(throws: RequestError.self) { try over.checkAnnotatable(by: mine) }
        #expect(refusal?.message == "session s belongs to the recorder with shard \(other): ask that one")
    }

    @Test func onlyASessionThatWasStoppedHasAReport() throws {
        try record(.finished).checkReported()
        let cancelled = #expect(throws: RequestError.self) { try record(.cancelled).checkReported() }
        #expect(cancelled?.data?.reason == "finished")
        let interrupted = #expect(throws: RequestError.self) { try record(.running).checkReported() }
        #expect(interrupted?.data?.reason == "notRunning")
    }

    @Test func resultsThatComeTooLateAreRefusedUnlessTheyAreKnown() throws {
        var record = try record(.finished)
        try record.checkResults(nil)
        let results = JSONValue.object(["answer": .string("yes")])
        #expect(throws: RequestError.self) { try record.checkResults(results) }
        record.results = results
        try record.checkResults(results)
    }
}
