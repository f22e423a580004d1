import FoundationEssentials
import Glibc
import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WallTimeTests {
    static let time = WallTime(nanosecondsSince1970: 1_795_238_701_123_456_789)

    @Test func aTimeIsWrittenInItsZone() {
        #expect(Self.time.utcText == "2026-11-21T05:25:01.123456Z")
        #expect(Self.time.text(in: 0) == "2026-11-21T05:25:01.123Z")
        #expect(Self.time.text(in: -9000) == "2026-11-21T02:55:01.123-02:30")
        #expect(Self.time.text(in: 20_700) == "2026-11-21T11:10:01.123+05:45")
        #expect(Self.time.text(in: 50_400) == "2026-11-21T19:25:01.123+14:00")
    }

    @Test func secondsOfAnOffsetAreLeftOutOfTextAndZoneAlike() throws {
        let text = Self.time.text(in: 3600 + 75)
        #expect(text == "2026-11-21T06:26:01.123+01:01")
        #expect(try WallTime(iso8601: text) == WallTime(iso8601: Self.time.text(in: 0)))
    }

    @Test func theLocalTextIsTheSameMoment() throws {
        #expect(try WallTime(iso8601: Self.time.localText) == WallTime(iso8601: Self.time.text(in: 0)))
    }

    @Test func timesBefore1970AreRoundedDown() {
        #expect(WallTime(nanosecondsSince1970: -1).utcText == "1969-12-31T23:59:59.999999Z")
        #expect(WallTime(nanosecondsSince1970: .min).utcText == "1677-09-21T00:12:43.145224Z")
        #expect(WallTime(nanosecondsSince1970: .max).utcText == "2262-04-11T23:47:16.854775Z")
        #expect(WallTime(nanosecondsSince1970: .min).text(in: -43_200) == "1677-09-20T12:12:43.145-12:00")
    }

    @Test func everyDayIsTheOneOfTheCLibrary() throws {
        for day in -106_751...106_751 {
            var seconds = time_t(day * 86_400 + 43_200)
            var civil = tm()
            gmtime_r(&seconds, &civil)
            let text = WallTime(nanosecondsSince1970: Int64(seconds) * 1_000_000_000).utcText
            func digits(_ place: Int, _ count: Int) -> Int? { Int(text.dropFirst(place).prefix(count)) }
            guard digits(0, 4) == Int(civil.tm_year) + 1900, digits(5, 2) == Int(civil.tm_mon) + 1,
                digits(8, 2) == Int(civil.tm_mday), digits(11, 2) == 12
            else {
                Issue.record("\(text) is not day \(day)")
                return
            }
            #expect(try WallTime(iso8601: text).nanosecondsSince1970 == Int64(seconds) * 1_000_000_000)
        }
    }

    @Test(arguments: [
        ("2026-11-21T05:25:01.123456789Z", 1_795_238_701_123_456_789),
        ("2026-11-21T05:25:01Z", 1_795_238_701_000_000_000),
        ("2026-11-21T05:25:01.1Z", 1_795_238_701_100_000_000),
        ("2026-11-21T02:55:01.123-02:30", 1_795_238_701_123_000_000),
        ("2026-11-21T06:25:01+01:00", 1_795_238_701_000_000_000),
        ("2026-11-21T06:25:01+0100", 1_795_238_701_000_000_000),
        ("2026-11-21T06:25:01+01", 1_795_238_701_000_000_000),
        ("2026-11-21T05:25:01-00:00", 1_795_238_701_000_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
    ])
    func anyZoneAndUpToNineDecimalsAreRead(_ text: String, _ nanoseconds: Int64) throws {
        #expect(try WallTime(iso8601: text).nanosecondsSince1970 == nanoseconds)
    }

    @Test(arguments: [
        "", "2026", "2026-11-21", "2026-11-21T05:25:01", "2026-11-21 05:25:01Z", "2026-13-21T05:25:01Z",
        "2026-02-29T05:25:01Z", "2026-11-00T05:25:01Z", "2026-11-21T24:00:00Z", "2026-11-21T05:60:01Z",
        "2026-11-21T05:25:61Z", "2026-11-21T05:25:01.Z", "2026-11-21T05:25:01.1234567890Z", "2026-11-21T05:25:01+1:00",
        "2026-11-21T05:25:01+01:60", "2026-11-21T05:25:01+24:00", "2026-11-21T05:25:01Zx", "2026-11-21T05:25:01,5Z",
        "+026-11-21T05:25:01Z", "2026-11-21T05:25:0١Z", "2026-11-21T05:25:01+01:", "1795238701",
        "2026-11-21T05:25:01Z" + String(repeating: " ", count: 100),
    ])
    func whatIsNoDateIsRefused(_ text: String) {
        let error = #expect(throws: MessageError.self) { try WallTime(iso8601: text) }
        #expect(error?.code == .malformed)
        #expect(error?.description.contains("2026-11-21T02:55:01.123Z") == true)
    }

    @Test(arguments: ["1677-01-01T00:00:00Z", "2262-12-31T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z"])
    func yearsThatCannotBeHeldAreRefused(_ text: String) {
        let error = #expect(throws: MessageError.self) { try WallTime(iso8601: text) }
        #expect(error?.code == .outOfRange)
    }

    @Test func secondsAreTheNearest() {
        #expect(WallTime(seconds: 1.5).nanosecondsSince1970 == 1_500_000_000)
        #expect(WallTime(seconds: -0.25).nanosecondsSince1970 == -250_000_000)
        #expect(WallTime(nanosecondsSince1970: 1_500_000_000).seconds == 1.5)
        #expect(WallTime(seconds: 1e300).nanosecondsSince1970 == .max)
        #expect(WallTime(seconds: -.infinity).nanosecondsSince1970 == .min)
        #expect(WallTime(seconds: .nan).nanosecondsSince1970 == 0)
    }

    @Test func nowIsTheSystemsTime() {
        let before = Glibc.time(nil)
        let now = WallTime.now
        let after = Glibc.time(nil)
        // The C library's `time` may lag behind by a tick.
        #expect(now.seconds >= Double(before))
        #expect(now.seconds < Double(after + 2))
    }

    @Test func timesAreCodedAsText() throws {
        let bytes = try JSONEncoder().encode([Self.time])
        #expect(String(decoding: bytes, as: UTF8.self) == #"["2026-11-21T05:25:01.123456Z"]"#)
        let decoded = try JSONDecoder().decode([WallTime].self, from: bytes)
        #expect(decoded == [WallTime(nanosecondsSince1970: 1_795_238_701_123_456_000)])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([WallTime].self, from: Data(#"["yesterday"]"#.utf8))
        }
    }

    @Test func anEarlierTimeIsLess() {
        #expect(WallTime(seconds: 1) < WallTime(seconds: 2))
        #expect(!(WallTime(seconds: 2) < WallTime(seconds: 2)))
    }

    @Test func anyTwoMomentsHaveADistance() throws {
        let longAgo = try WallTime(iso8601: "1700-01-01T00:00:00Z")
        let farOff = try WallTime(iso8601: "2260-01-01T00:00:00Z")
        let most = Double(Int64.max) / 1e9
        #expect(farOff.seconds(since: longAgo) == most)
        #expect(longAgo.seconds(since: farOff) == -most)
        let comparison = ClockComparison(
            endpoint: "tcp://p", date: farOff, clock: ClockReading(uptime: 0, date: longAgo), roundTrip: 0)
        #expect(comparison.offset == -most)
    }
}
