import Testing

@testable import CrashLab

/// The laboratory's comparison of records of any kind.
@Suite(.timeLimit(.minutes(5)))
struct CellTests {
    @Test(arguments: [
        ("1.5", "1.5"), ("\"12\"", "12"), ("true", "true"), ("\"walk, slowly\"", "walk, slowly"),
        (#"[{"phase": "began", "at": [1, 0.5]}]"#, #"[{"phase":"began","at":[1,0.5]}]"#),
    ])
    func aValueIsTheSameInJSONAndInATable(json: String, cell: String) throws {
        #expect(try Cell.number(StrictJSON(json.utf8)) == Cell.number(inTable: cell))
    }

    @Test func otherValuesAreOtherNumbers() throws {
        let texts = ["true", "false", "walk", "Walk", "[1]", "[2]", #"{"a":1}"#, #"{"b":1}"#, "3"]
        #expect(Set(texts.map { Cell.number(inTable: $0) }).count == texts.count)
    }

    @Test func nothingIsNoNumber() {
        #expect(Cell.number(.null).isNaN)
        #expect(Cell.number(inTable: "").isNaN)
    }
}
