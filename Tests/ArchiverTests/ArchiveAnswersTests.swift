import Messages
import Testing

@testable import Archives

@Suite struct ArchiveAnswersTests {
    private func answers(_ json: String) throws -> ArchiveAnswers {
        try ArchiveAnswers(TaskResults(try WireCoding.decode(JSONValue.self, from: Array(json.utf8))))
    }

    @Test func case43KeysAreSectionCollectionResult() throws {
        let expected: [String: JSONValue] = [
            "collection_input1": .integer(1), "collection_input2": .integer(2), "collection_input3": .integer(4),
            "single": .integer(5), "only": .integer(7), "sectionA_collection_input1": .integer(1),
            "sectionA_collection_input2": .integer(2), "sectionA_collection_input3": .integer(4),
            "sectionA_single": .integer(3), "sectionA_only": .integer(9),
        ]
        #expect(try answers(TaskResultsFixture.single).json == .object(expected))
    }

    /// Decision D7: the innermost section names the key; the later of two gets its whole path, a third one a number.
    @Test func nothingIsOverwritten() throws {
        let answers = try answers(
            """
            {"stepHistory": [
              {"identifier": "q", "value": 1},
              {"identifier": "q", "value": 2},
              {"identifier": "A", "stepHistory": [{"identifier": "x", "stepHistory": [{"identifier": "q", "value": 3}]}]},
              {"identifier": "B", "stepHistory": [{"identifier": "x", "stepHistory": [{"identifier": "q", "value": 4}]}]}
            ]}
            """)
        #expect(answers.answers.map(\.key) == ["q", "q_2", "x_q", "B_x_q"])
        #expect(answers.answers.map(\.value) == [.integer(1), .integer(2), .integer(3), .integer(4)])
    }

    @Test func answersAreKeptAsTheyAre() throws {
        let answers = try answers(
            #"{"stepHistory": [{"identifier": "a", "value": {"b": [1.5, "x", true]}}, {"identifier": "n", "value": null}]}"#
        )
        #expect(
            answers.json
                == .object(["a": .object(["b": .array([.number(1.5), .string("x"), .boolean(true)])])]))
    }

    @Test func case45BridgeTakesArraysAsTextAndASchema() throws {
        let bridged = BridgeAnswers(
            try answers(
                """
                {"stepHistory": [
                  {"identifier": "yes", "value": true}, {"identifier": "number", "value": 42},
                  {"identifier": "decimal", "value": 52.25}, {"identifier": "text", "value": "brown fox"},
                  {"identifier": "list", "value": [1, 11]},
                  {"identifier": "branch", "stepHistory": [{"identifier": "pizza", "value": false}]}
                ]}
                """))
        #expect(
            bridged.json
                == .object([
                    "yes": .boolean(true), "number": .integer(42), "decimal": .number(52.25),
                    "text": .string("brown fox"), "list": .string("1,11"), "branch_pizza": .boolean(false),
                ]))
        guard case .object(let schema) = bridged.schema, case .object(let types) = schema["properties"] else {
            Issue.record("no schema: \(bridged.schema)")
            return
        }
        let expected = [
            "yes": "boolean", "number": "integer", "decimal": "number", "text": "string", "list": "string",
            "branch_pizza": "boolean",
        ]
        #expect(types == expected.mapValues { .object(["type": .string($0)]) })
    }
}
