import FoundationEssentials
import Messages
import Testing

@Suite struct TaskResultsTests {
    private func results(_ json: String) throws -> TaskResults {
        try TaskResults(try WireCoding.decode(JSONValue.self, from: Array(json.utf8)))
    }

    @Test func textsThatLookLikeNumbersStayTexts() throws {
        let texts = ["NaN", "Infinity", "-Infinity", "1"]
        let json = try WireCoding.encode(texts)
        #expect(try WireCoding.decode([JSONValue].self, from: json) == texts.map(JSONValue.string))
        let results = try results(#"{"stepHistory": [{"identifier": "NaN", "value": "Infinity"}]}"#)
        #expect(results.steps.map(\.identifier) == ["NaN"])
        #expect(results.steps.map(\.content) == [.answer(.string("Infinity"))])
    }

    @Test func everyKindOfResultIsUnderstood() throws {
        let results = try results(
            """
            {"taskRunUUID": "U", "schemaInfo": {"identifier": "walk", "revision": 2}, "extra": [1],
             "stepHistory": [
               {"identifier": "intro", "type": "base"},
               {"identifier": "age", "value": 42},
               {"identifier": "form", "inputResults": [{"identifier": "a", "value": "x"}]},
               {"identifier": "section", "stepHistory": [{"identifier": "b", "value": null}]}],
             "asyncResults": [
               {"identifier": "photo", "relativePath": "p 1.jpg", "contentType": "image/jpeg",
                "startDate": "2026-11-21T02:55:01Z"}]}
            """)
        #expect(results.taskRunUUID == "U")
        #expect(results.schemaIdentifier == "walk")
        #expect(results.schemaRevision == 2)
        #expect(results.json["extra"] == .array([.integer(1)]))
        #expect(results.steps.map(\.identifier) == ["intro", "age", "form", "section"])
        #expect(results.steps[0].content == .other)
        #expect(results.steps[1].content == .answer(.integer(42)))
        guard case .collection(let form) = results.steps[2].content,
            case .section(let section) = results.steps[3].content,
            case .file(let file) = results.asyncResults[0].content
        else {
            Issue.record("\(results)")
            return
        }
        #expect(form.map(\.content) == [.answer(.string("x"))])
        #expect(section.steps.map(\.content) == [.answer(.null)])
        #expect(file.name == "p 1.jpg")
        #expect(file.contentType == "image/jpeg")
        #expect(file.startDate == WallTime(nanosecondsSince1970: 1_795_229_701_000_000_000))
    }

    @Test(arguments: [
        ("[]", "results is not an object"),
        (#"{"stepHistory": 1}"#, "results.stepHistory is not an array"),
        (#"{"stepHistory": [{"value": 1}]}"#, "results.stepHistory[0] has no identifier"),
        (#"{"asyncResults": [{"identifier": "f", "relativePath": "../f"}]}"#, "results.asyncResults[0].relativePath"),
        (#"{"schemaInfo": {"revision": "2"}}"#, "results.schemaInfo.revision is not a whole number"),
        (
            #"{"stepHistory": [{"identifier": "s", "stepHistory": [{"identifier": ""}]}]}"#,
            "results.stepHistory[0].stepHistory[0] has no identifier"
        ),
    ])
    func whatIsMalformedIsSaidWithItsPlace(json: String, fault: String) throws {
        let error = try #require(throws: MessageError.self) { try results(json) }
        #expect(error.message.contains(fault), "\(error)")
    }

    @Test func nestingHasALimit() throws {
        let opening = #"{"identifier": "s", "stepHistory": ["#
        let json = String(repeating: opening, count: 100) + String(repeating: "]}", count: 100)
        let error = try #require(throws: MessageError.self) { try results(json) }
        #expect(error.code == .outOfRange)
    }
}
