import FoundationEssentials
import Logging
import Messages
import Testing

@testable import ServiceKit

struct LogLineTests {
    private static let date = WallTime(nanosecondsSince1970: 1_795_248_507_573_000_000)

    @Test func aLineIsOneObject() {
        let line = LogLine(
            at: Self.date, level: .notice, program: "recorder", message: "started",
            metadata: ["session": "s1", "bus.reply": "tcp://127.0.0.1:5561"])
        #expect(
            String(decoding: line.bytes, as: UTF8.self)
                == #"{"timestamp":"2026-11-21T08:08:27.573Z","level":"notice","program":"recorder","message":"started","#
                + #""bus.reply":"tcp://127.0.0.1:5561","session":"s1"}"# + "\n")
    }

    @Test func whateverIsInATextStaysInIt() throws {
        let text = "a\"b\\c\nd\re\tf\u{0}g\u{1b}[31m\u{2028}ü🙂"
        let line = LogLine(level: .error, program: text, message: text, metadata: [text: "\(text)"])
        #expect(line.bytes.count { $0 < 0x20 } == 1)
        let object = try JSONDecoder().decode([String: String].self, from: Data(line.bytes))
        #expect(object["program"] == text && object["message"] == text && object[text] == text)
    }

    @Test func aLineOfTextIsOneLineWhateverIsInIt() {
        let name = "x\r\n2026-11-21 error recorder: all is lost\u{1b}[2J\u{9b}31m\u{2028}ü🙂\t\u{0}\\d"
        #expect(
            LogText.escaped(name[...])
                == #"x\r\n2026-11-21 error recorder: all is lost\u{1B}[2J\u{009B}31m\u{2028}ü🙂\t\0\d"#)
        let plain = "2026-11-21T00:00:00+0000 notice recorder: session=s1 [Recorder] recording started"
        #expect(LogText.escaped(plain[...]) == plain)
    }

    @Test func metadataKeepTheirShapeAndTakeNoOtherFieldsPlace() throws {
        let line = LogLine(
            level: .error, program: "p", message: "m",
            metadata: ["level": "9", "list": ["a", ["b": "c"]], "number": .stringConvertible(5)])
        let text = String(decoding: line.bytes, as: UTF8.self)
        #expect(text.contains(#""metadata.level":"9","list":["a",{"b":"c"}],"number":"5"}"#))
        #expect(text.contains(#""level":"error""#))
    }
}
