/// An XML element of an LSL outlet's description: texts and elements, as liblsl writes them. Attributes, comments and processing
/// instructions have no meaning there and are skipped.
package struct LSLElement: Hashable, Sendable {
    private static let maximumDepth = 64

    package let name: String
    /// Its text, without that of its child elements and without surrounding blanks.
    package private(set) var text = ""
    package private(set) var children: [LSLElement] = []
    /// The range of its bytes in the parsed text.
    package private(set) var place = 0..<0

    package subscript(_ name: String) -> LSLElement? { children.first { $0.name == name } }

    /// - Throws: `invalidInput` if the text is not a single element.
    package init(xml text: String) throws(PublisherError) {
        var parser = Parser(Array(text.utf8))
        guard let root = parser.root() else {
            throw PublisherError(.invalidInput, "the outlet's description is not XML near its byte \(parser.index)")
        }
        self = root
    }

    private init(named name: String) { self.name = name }

    private struct Parser {
        let bytes: [UInt8]
        var index = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        mutating func root() -> LSLElement? {
            guard skipOther(), let element = element(depth: 0), skipOther(), index == bytes.count else { return nil }
            return element
        }

        private func has(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

        /// Moves past the next occurrence of a text.
        private mutating func skip(past text: String) -> Bool {
            let end = Array(text.utf8)
            while index + end.count <= bytes.count {
                if bytes[index..<index + end.count].elementsEqual(end) {
                    index += end.count
                    return true
                }
                index += 1
            }
            return false
        }

        /// Skips blanks, comments and instructions.
        private mutating func skipOther() -> Bool {
            while index < bytes.count {
                if Self.isBlank(bytes[index]) {
                    index += 1
                } else if has("<?") {
                    guard skip(past: "?>") else { return false }
                } else if has("<!--") {
                    guard skip(past: "-->") else { return false }
                } else {
                    break
                }
            }
            return true
        }

        private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

        private static func isOfName(_ byte: UInt8) -> Bool {
            !isBlank(byte)
                && ![UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "=")].contains(byte)
        }

        private mutating func name() -> String? {
            let start = index
            while index < bytes.count, Self.isOfName(bytes[index]) { index += 1 }
            return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
        }

        private mutating func element(depth: Int) -> LSLElement? {
            let start = index
            guard depth < LSLElement.maximumDepth, has("<") else { return nil }
            index += 1
            guard let name = name() else { return nil }
            var element = LSLElement(named: name)
            guard let isEmpty = skipAttributes() else { return nil }
            if !isEmpty {
                guard readContent(of: &element, depth: depth) else { return nil }
            }
            element.place = start..<index
            return element
        }

        /// Moves past the end of a tag.
        /// - Returns: whether the tag closes its element; nil if it has no end.
        private mutating func skipAttributes() -> Bool? {
            var quote: UInt8?
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                if let open = quote {
                    if byte == open { quote = nil }
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                    quote = byte
                } else if byte == UInt8(ascii: ">") {
                    return bytes[index - 2] == UInt8(ascii: "/")
                }
            }
            return nil
        }

        private mutating func readContent(of element: inout LSLElement, depth: Int) -> Bool {
            var text: [UInt8] = []
            while index < bytes.count {
                if has("</") {
                    index += 2
                    guard name() == element.name, skipOther(), has(">") else { return false }
                    index += 1
                    let whole = String(decoding: text, as: UTF8.self)
                    element.text = String(whole.trimmingBlanks)
                    return true
                } else if has("<![CDATA[") {
                    index += 9
                    let start = index
                    guard skip(past: "]]>") else { return false }
                    text += bytes[start..<index - 3]
                } else if has("<!--") || has("<?") {
                    guard skipOther() else { return false }
                } else if has("<") {
                    guard let child = self.element(depth: depth + 1) else { return false }
                    element.children.append(child)
                } else if has("&") {
                    guard let character = reference() else { return false }
                    text += String(character).utf8
                } else {
                    text.append(bytes[index])
                    index += 1
                }
            }
            return false
        }

        /// The character of a reference such as `&lt;` or `&#60;`.
        private mutating func reference() -> Character? {
            guard let end = bytes[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
            let name = String(decoding: bytes[index + 1..<end], as: UTF8.self)
            index = end + 1
            if let known = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"][name] {
                return Character(known)
            }
            guard name.hasPrefix("#") else { return nil }
            let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
            return number.flatMap(Unicode.Scalar.init).map(Character.init)
        }
    }
}
