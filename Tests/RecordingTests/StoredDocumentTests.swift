import Files
import Testing

@testable import Recording

@Suite struct StoredDocumentTests {
    private struct Document: Encodable {
        struct Element: Encodable {
            var name: String
            var empty: [Int] = []
            var nested = ["files": [1, 2]]
            var nothing: Int?
        }
        var first = "\n  \"files\" : [\n"
        var nested = ["files": [String]()]
        var files: [Element] = []
        var zones = [String]()
    }

    @Test(arguments: [0, 1, 2, 255, 256, 257, 1_000]) func piecesAreWhatTheWholeIs(count: Int) {
        var whole = Document()
        whole.files = (0..<count).map { Document.Element(name: "\($0)\n🚶 \"/\\") }
        let pieces = StoredDocument(whole, list: "files", \.files)
        #expect(Array(pieces.joined()) == StoredJSON.document(whole))
        // The pieces are made anew each time.
        #expect(Array(pieces.joined()) == StoredJSON.document(whole))
        #expect(pieces.map(\.count).max() ?? 0 < 60_000)
    }

    @Test func numbersAreElementsToo() {
        let pieces = StoredDocument(["files": [Int]()], list: "files", 0..<300)
        #expect(Array(pieces.joined()) == StoredJSON.document(["files": Array(0..<300)]))
    }
}
