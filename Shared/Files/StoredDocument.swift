/// A JSON document of which one list may be long, encoded piece by piece: together the pieces are what
/// `StoredJSON.document` gives of the whole, and nobody holds more than one of them.
package struct StoredDocument<Elements: Sequence>: Sequence where Elements.Element: Encodable {
    private static var batchSize: Int { 256 }

    private let head: [UInt8]
    private let elements: Elements
    private let tail: [UInt8]

    /// - Parameters:
    ///   - shell: the document, its list empty.
    ///   - key: the list's, at the top of the document.
    package init(_ shell: some Encodable, list key: String, _ elements: Elements) {
        let bytes = StoredJSON.document(shell)
        // Only what is at the top begins a line with two spaces, and no text has a line's end in it.
        guard let opening = bytes.firstRange(of: Array("\n  \"\(key)\" : [\n".utf8)) else {
            preconditionFailure("the document has a list \(key)")
        }
        head = Array(bytes[..<opening.upperBound])
        tail = Array(bytes[opening.upperBound...])
        self.elements = elements
    }

    /// - Parameters:
    ///   - key: the long list's, at the top of the document.
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
            // Without its brackets, in which it would be one step further to the left.
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
