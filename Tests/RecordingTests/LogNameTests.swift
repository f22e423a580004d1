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
        ("participant-0042-left-wrist_accelerometer", "participant-0042-left-wrist_accelerometer"),
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

    @Test func namesOfAHundredBytesStayWhole() {
        let device = String(repeating: "å", count: 50)
        let stream = String(repeating: "s", count: 100)
        #expect(LogName(device: device, stream: stream).text == "\(device)_\(stream)")
        #expect(LogName(existing: "\(device)_\(stream)") != nil)
    }

    /// The digits depend only on the whole name: the order in which streams appear does not matter.
    @Test func longerNamesAreCutAndStillDiffer() {
        let device = String(repeating: "d", count: 300)
        let (first, second) = (
            LogName(device: device, stream: "gyro"), LogName(device: device, stream: "accelerometer")
        )
        #expect(first != second)
        for name in [first, second] {
            #expect(name.text.wholeMatch(of: /d{201}-[0-9a-f]{4}/) != nil)
            #expect(LogName(existing: name.text) == name)
        }
    }

    @Test func takenNamesGetDigitsOfTheWholeIdentifier() {
        let first = LogName(device: "left_wrist", stream: "gyro")
        let second = LogName(device: "left", stream: "wrist_gyro", avoiding: [first.folded])
        let third = LogName(device: "left.wrist", stream: "gyro", avoiding: [first.folded, second.folded])
        #expect(first.text == "left_wrist_gyro")
        #expect(Set([first, second, third]).count == 3)
        #expect(second.text.wholeMatch(of: /left_wrist_gyro-[0-9a-f]{4}/) != nil)
        // A restarted program finds the same name.
        #expect(LogName(device: "left", stream: "wrist_gyro", avoiding: [first.folded]) == second)
        // Even the name with digits may be taken.
        #expect(LogName(device: "left", stream: "wrist_gyro", avoiding: [first.folded, second.folded]) != second)
    }

    /// On a file system that ignores case or composes letters, these names would be one file.
    @Test(arguments: [
        ("phone_gyro", "Phone_gyro"), ("stra\u{DF}e", "STRASSE"), ("stra\u{DF}e", "STRA\u{1E9E}E"),
        ("\u{E9}_gyro", "e\u{301}_gyro"), ("\u{3C3}", "\u{3C2}"),
    ])
    func namesThatAFileSystemTakesForOneAreACollision(first: String, second: String) {
        let taken = LogName(first).folded
        #expect(LogName(second, avoiding: [taken]).text.hasPrefix("\(second)-"))
    }

    @Test func aNameIsNeverTakenForAFinishedFileOfAnother() {
        #expect(LogName("a-20261121025501").text == "a_20261121025501")
        #expect(LogName("a-20261121025501-1").text == "a_20261121025501_1")
        #expect(LogName("a-2026").text == "a-2026")
    }

    @Test func namesFitIntoAFileSystem() {
        let name = LogName(String(repeating: "e" + String(repeating: "\u{301}", count: 60), count: 40))
        #expect(name.text.utf8.count <= 206)
        let file = FinishedName(log: name, stamp: "20261121025501", count: 999_999_999, format: .json)
        #expect(file.description.utf8.count <= 255)
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
