import FoundationEssentials
import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LogNameTests {
    @Test(arguments: [
        ("walk.outbound rest", "walk_outbound_rest"),
        ("a/b\\c", "abc"),
        ("åäö-Ünï", "åäö-Ünï"),
        ("left-wrist_accelerometer", "left-wrist_accelerometer"),
        ("left-wrist_accelerometer2", "left-wrist_accelerometer"),
        ("ååååååååååååååååååååååååå", "åååååååååååååååååååååååå"),
        ("歩行 テスト", "歩行_テスト"),
        ("a\u{0}\n\"b", "ab"),
        ("../../etc/passwd", "____etcpasswd"),
    ])
    func identifiersBecomeNamesByTheRule(identifier: String, name: String) {
        #expect(LogName(identifier).text == name)
    }

    @Test func aStreamsLogIsNamedAfterDeviceAndStream() {
        #expect(LogName(device: "left-wrist", stream: "deviceMotion").text == "left-wrist_deviceMotion")
        #expect(LogName(device: "phone", stream: "gyro").fileName(.csv) == "phone_gyro.csv")
    }

    @Test(arguments: ["answers", "taskResult", "metadata", "session", "journal", "report", "TaskResult"])
    func reservedNamesGetFourDigits(name: String) {
        #expect(LogName(name).text.wholeMatch(of: /\w+-[0-9a-f]{4}/) != nil)
        #expect(LogName(name).text.hasPrefix("\(name)-"))
        #expect(LogName(name) == LogName(name))
    }

    @Test func anEmptyNameIsReplaced() {
        #expect(LogName("").text.wholeMatch(of: /log-[0-9a-f]{4}/) != nil)
        #expect(LogName("???").text.wholeMatch(of: /log-[0-9a-f]{4}/) != nil)
        #expect(LogName("???") != LogName("!!!"))
    }

    @Test func takenNamesGetDigitsOfTheWholeIdentifier() {
        let first = LogName("phone_accelerometer_at_the_left")
        let second = LogName("phone_accelerometer_at_the_right", avoiding: [first.folded])
        let third = LogName("phone_accelerometer_at_the_front", avoiding: [first.folded, second.folded])
        #expect(first.text == "phone_accelerometer_at_t")
        #expect(Set([first, second, third]).count == 3)
        #expect(second.text.wholeMatch(of: /phone_accelerometer_at_t-[0-9a-f]{4}/) != nil)
        // A program that starts anew finds the same.
        #expect(LogName("phone_accelerometer_at_the_right", avoiding: [first.folded]) == second)
        // Even the digits may be taken.
        #expect(LogName("phone_accelerometer_at_the_right", avoiding: [first.folded, second.folded]) != second)
    }

    @Test func namesThatDifferInCaseOnlyAreACollision() {
        #expect(LogName("Phone_gyro", avoiding: [LogName("phone_gyro").folded]).text.hasPrefix("Phone_gyro-"))
    }

    @Test func aNameIsNeverTakenForAFinishedFileOfAnother() {
        #expect(LogName("a-20261121025501").text == "a_20261121025501")
        #expect(LogName("a-20261121025501-1").text == "a_20261121025501_1")
        #expect(LogName("a-2026").text == "a-2026")
    }

    @Test func namesFitIntoAFileSystem() {
        let name = LogName(String(repeating: "e" + String(repeating: "\u{301}", count: 60), count: 40))
        #expect(name.text.utf8.count <= 101)
        #expect(LogName(String(repeating: "\u{1D518}", count: 30)).text.count == 24)
    }

    @Test func decodingRefusesWhatNoLogCanBeCalled() throws {
        #expect(throws: DecodingError.self) { try decode("../x") }
        #expect(throws: DecodingError.self) { try decode("session") }
        #expect(throws: DecodingError.self) { try decode("") }
        #expect(try decode("answers-3f9a").text == "answers-3f9a")
    }

    private func decode(_ text: String) throws -> LogName {
        try WireCoding.decode(LogName.self, from: WireCoding.encode(text))
    }
}
