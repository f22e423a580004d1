/// A JSON document with one long list, encoded piece by piece. Together the pieces equal `StoredJSON.document` of the whole,
/// and only one of them is in memory at a time.
package struct StoredDocument<Elements: Sequence>: Sequence where Elements.Element: Encodable {
    private static var batchSize: Int { 256 }

    private let head: [UInt8]
    private let elements: Elements
    private let tail: [UInt8]

    /// - Parameters:
    ///   - shell: the document, with an empty list.
    ///   - key: the list's key, at the top level of the document.
    package init(_ shell: some Encodable, list key: String, _ elements: Elements) {
        let bytes = StoredJSON.document(shell)
        // Only top-level keys begin a line with two spaces, and texts contain no line ends.
        guard let opening = bytes.firstRange(of: Array("\n  \"\(key)\" : [\n".utf8)) else {
            preconditionFailure("the document has a list \(key)")
        }
        head = Array(bytes[..<opening.upperBound])
        tail = Array(bytes[opening.upperBound...])
        self.elements = elements
    }

    /// - Parameters:
    ///   - key: the long list's key, at the top level of the document.
    package init<Document: Encodable>(
        _ document: Document, list key: String, _ list: WritableKeyPath<Document, Elements>
    ) where Elements: RangeReplaceableCollection {
        var shell = document
        shell[keyPath: list] = Elements()
        self.init(shell, list: key, document[keyPath: list])
    }

    package func makeIterator() -> AnyIterator<[UInt8]> {
        var head: [UInt8]? = head
        var elements = elements.makeIterator()
        var tail: [UInt8]? = tail
        var isFirst = true
        return AnyIterator {
            if let piece = head.take() { return piece }
            var batch: [Elements.Element] = []
            while batch.count < Self.batchSize, let element = elements.next() { batch.append(element) }
            if batch.isEmpty { return tail.take() }
            defer { isFirst = false }
            // Without its brackets; inside them, the elements are indented one level less.
            let lines = StoredJSON.document(batch).dropFirst(2).dropLast(3)
            var piece: [UInt8] = isFirst ? [] : Array(",\n".utf8)
            piece.reserveCapacity(lines.count + lines.count / 4)
            for line in lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                if line.startIndex != lines.startIndex { piece.append(UInt8(ascii: "\n")) }
                if !line.isEmpty { piece += [UInt8(ascii: " "), UInt8(ascii: " ")] }
                piece += line
            }
            return piece
        }
    }
}
