import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StreamChoiceTests {
    @Test(arguments: [
        ("phone/", StreamChoice("phone/")), ("*", StreamChoice("*")),
        ("left-wrist/:walk..turn", StreamChoice("left-wrist/", fromStep: "walk", toStep: "turn")),
        ("left-wrist/gyro:walk..", StreamChoice("left-wrist/gyro", fromStep: "walk")),
        ("*:..turn", StreamChoice("*", toStep: "turn")),
        ("phone/:walk", StreamChoice("phone/", fromStep: "walk", toStep: "walk")),
        ("phone/:a:b..c", StreamChoice("phone/", fromStep: "a:b", toStep: "c")),
        // The recorder refuses these: a step needs a name.
        ("phone/:", StreamChoice("phone/", fromStep: "", toStep: "")),
        ("phone/:..", StreamChoice("phone/", fromStep: "")),
    ])
    func aPersonTypesTheStepsBehindAColon(text: String, choice: StreamChoice) {
        #expect(StreamChoice(typed: text) == choice)
    }

    @Test(arguments: [
        (#""phone/""#, StreamChoice("phone/")),
        (
            #"{"fromStep":"walk","stream":"phone/","toStep":"turn"}"#,
            StreamChoice("phone/", fromStep: "walk", toStep: "turn")
        ),
        (#"{"fromStep":"walk","stream":"phone/"}"#, StreamChoice("phone/", fromStep: "walk")),
    ])
    func theWireHasATextOrAnObject(text: String, choice: StreamChoice) throws {
        #expect(try WireCoding.decode(StreamChoice.self, from: text.utf8) == choice)
        #expect(String(decoding: try WireCoding.encode(choice), as: UTF8.self) == text)
    }

    @Test func anObjectWithoutStepsIsTheText() throws {
        #expect(try WireCoding.decode(StreamChoice.self, from: #"{"stream":"phone/"}"#.utf8) == StreamChoice("phone/"))
    }

    @Test(arguments: ["1", "{}", #"{"stream":1}"#, "null", #"["phone/"]"#])
    func anythingElseIsRefused(text: String) {
        #expect(throws: DecodingError.self) { try WireCoding.decode(StreamChoice.self, from: text.utf8) }
    }
}
