/// A minimal reader of XML elements.
///
/// Sufficient for S3 responses: ignores attributes and does not support an element nested in one of the same name. A text that is
/// not XML has no elements.
struct XMLText: Hashable, Sendable {
    private let source: Substring

    init(_ text: String) { source = text[...] }

    private init(source: Substring) { self.source = source }

    /// The content of each element of a name, in order.
    func all(_ tag: String) -> [XMLText] {
        var found: [XMLText] = []
        var rest = source
        while let start = Self.opening(of: tag, in: rest) {
            guard let end = rest[start...].firstRange(of: "</\(tag)>") else { break }
            found.append(XMLText(source: rest[start..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return found
    }

    func first(_ tag: String) -> String? { all(tag).first?.text }

    /// The text with its entities decoded.
    var text: String {
        var text = String(source.trimmed)
        let entities = [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&#x22;", "\""), ("&apos;", "'"),
            ("&amp;", "&"),
        ]
        for (entity, character) in entities { text = text.replacing(entity, with: character) }
        return text
    }

    /// The start of the content of the first element of a name.
    private static func opening(of tag: String, in text: Substring) -> Substring.Index? {
        var rest = text
        while let range = rest.firstRange(of: "<\(tag)") {
            rest = rest[range.upperBound...]
            // `<Part>` is not `<PartNumber>`.
            guard let next = rest.first, next == ">" || next.isWhitespace else { continue }
            // Every byte is searched once, because a server may send anything.
            guard let close = rest.firstIndex(of: ">") else { return nil }
            let end = rest.index(after: close)
            if rest[..<close].last != "/" { return end }
            // `<Key />` has no content.
            rest = rest[end...]
        }
        return nil
    }

    /// Text with escaped markup characters.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
