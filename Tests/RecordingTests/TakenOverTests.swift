import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Interrupted sessions that another machine continued.
struct TakenOverTests {
    @Test func interruptedSessionsAreMovedAndFinishedOnesStay() throws {
        try withTemporaryDirectory { data in
            for name in ["over", "cut", "torn"] {
                let record = SessionRecord(
                    session: try SessionIdentifier(name), task: "", step: "", streams: ["*"], format: .json,
                    root: .array,
                    status: .running, startDate: WallTime(seconds: 1_700_000_000))
                let session = try SessionDirectory.create(record, in: data)
                if name == "over" { try session.writeChecksums() }
            }
            let moved = try SessionDirectory.setAsideInterrupted(in: data, before: 7)
            let places = ["taken-over/cut.before-term-7", "taken-over/torn.before-term-7"]
            #expect(moved == places.map { data.appending($0) })
            #expect(try SessionDirectory.sessions(in: data).map(\.text) == ["over"])
            for path in moved { #expect(try SessionDirectory(at: path).record().status == .running) }
            #expect(try SessionDirectory.setAsideInterrupted(in: data, before: 8) == [])
        }
    }
}
