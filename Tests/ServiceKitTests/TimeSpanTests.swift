import ServiceKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TimeSpanTests {
    @Test(arguments: [
        ("0", 0), ("10", 10_000_000_000), ("0.2", 200_000_000), ("200ms", 200_000_000), ("1.5s", 1_500_000_000),
        ("10m", 600_000_000_000), ("2h", 7_200_000_000_000), ("7d", 604_800_000_000_000), ("250us", 250_000),
        ("1ns", 1), ("5 S", 5_000_000_000), ("0.1s", 100_000_000), ("106751d", 9_223_286_400_000_000_000),
    ])
    func durationsAreReadExactly(text: String, nanoseconds: Int64) throws {
        let span = try TimeSpan(typed: text)
        #expect(span.nanoseconds == nanoseconds)
        #expect(span.duration == .nanoseconds(nanoseconds))
    }

    @Test(arguments: ["", "ms", "-1s", "5 parsecs", "1h30m", "0.1ns", "1e3", "NaN", "106752d", "10 000"])
    func whatIsNoDurationIsExplained(text: String) throws {
        let error = #expect(throws: InvalidValue.self) { try TimeSpan(typed: text) }
        #expect(
            try #require(error).description == "'\(text)' is not a duration: write 200ms, 10s, 5m, 2h or 7d")
    }

    @Test(arguments: [
        (0, "0s"), (1, "1ns"), (1500, "1500ns"), (200_000_000, "200ms"), (1_500_000_000, "1500ms"),
        (90_000_000_000, "90s"), (86_400_000_000_000, "1d"), (Int64.max, "9223372036854775807ns"),
    ])
    func descriptionsAreShortAndReadBack(nanoseconds: Int64, text: String) throws {
        #expect(TimeSpan(nanoseconds: nanoseconds).description == text)
        #expect(try TimeSpan(typed: text).nanoseconds == nanoseconds)
    }
}
