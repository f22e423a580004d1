import Messages
import Recording
import Testing

@testable import LogManagerCore

struct FinishedMomentTests {
    private func moment(_ stamp: String, modified: String) throws -> String {
        let name = FinishedName(log: LogName("a"), stamp: stamp, format: .json)
        return name.moment(modified: try WallTime(iso8601: modified).nanosecondsSince1970).utcText
    }

    @Test(arguments: [
        ("2026-11-20T23:53:01.250Z", "2026-11-20T23:53:01.250000Z"),
        ("2026-11-20T23:53:01Z", "2026-11-20T23:53:01.000000Z"),
        // Copied later.
        ("2026-11-21T08:00:00Z", "2026-11-20T23:53:01.999999Z"),
        // The clock was set back.
        ("2026-11-20T22:53:01.5Z", "2026-11-20T23:53:01.000000Z"),
    ])
    func theTimeLiesWithinTheStampsSecond(modified: String, moment: String) throws {
        #expect(try self.moment("20261120235301", modified: modified) == moment)
    }

    @Test func aStampThatIsNoDateOfOursSaysNothing() throws {
        #expect(try moment("99991231235959", modified: "2026-11-20T22:53:01.5Z") == "1970-01-01T00:00:00.000000Z")
        #expect(try moment("00000000000000", modified: "2026-11-20T22:53:01.5Z") == "1970-01-01T00:00:00.000000Z")
    }
}
