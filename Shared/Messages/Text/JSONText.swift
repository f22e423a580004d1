/// Writes values as JSON text: the same bytes as `JSONEncoder` with `.sortedKeys` and `.withoutEscapingSlashes`, in a fraction
/// of its time. A recorder of a thousand streams stores a megabyte of this every second.
///
/// `JSONEncoder` first builds a tree of objects. `JSONText` writes each value's text in place, and sorts an object's members
/// once all of them are written.
package final class JSONText {
    private enum Kind { case nothing, value, object, array }

    /// A value that is being written.
    private struct Frame {
        var kind = Kind.nothing
        /// The index of the value's first member in `members`.
        var firstMember = 0
        var count = 0
    }

    private struct Member {
        let key: String
        /// The offset of the member's text, which ends in front of the next member's separator.
        let start: Int
    }

    private let isPretty: Bool
    private var buffer = ByteBuffer(capacity: 1 << 10)
    private var sorted = ByteBuffer(capacity: 0)
    private var frames: [Frame] = []
    private var members: [Member] = []
    /// The number of open objects and arrays.
    private var depth = 0

    private init(isPretty: Bool) { self.isPretty = isPretty }

    /// The text of a value.
    /// - Parameter isPretty: whether to break lines for people, as `.prettyPrinted` does.
    /// - Throws: `EncodingError`, only from a value's own encoding.
    package static func encode(_ value: some Encodable, isPretty: Bool = false) throws -> [UInt8] {
        let text = JSONText(isPretty: isPretty)
        try text.write(value)
        return text.buffer.withUnsafeBytes { Array($0) }
    }

    // MARK: Values

    fileprivate func write<Value: Encodable>(_ value: Value) throws {
        // Compares types before casting: most calls are specialized for one of these types.
        if Value.self == String.self, let text = value as? String {
            buffer.append(jsonString: text)
        } else if Value.self == Int.self, let number = value as? Int {
            buffer.append(number)
        } else if Value.self == Double.self, let number = value as? Double {
            buffer.append(json: number)
        } else if Value.self == Bool.self, let isTrue = value as? Bool {
            buffer.append(utf8: isTrue ? "true" : "false")
        } else if Value.self is any FixedWidthInteger.Type, let number = value as? any FixedWidthInteger {
            buffer.append(utf8: "\(number)")
        } else {
            precondition(Value.self != Float.self, "No message has numbers of single precision.")
            let level = frames.count
            frames.append(Frame())
            try value.encode(to: self)
            finish(downTo: level)
        }
    }

    fileprivate func writeNull() { buffer.append(utf8: "null") }

    /// Finishes values until only `level` are open.
    private func finish(downTo level: Int) { while frames.count > level { finishLast() } }

    private func finishLast() {
        guard var frame = frames.popLast() else { return }
        // A value that wrote nothing is an empty object.
        if frame.kind == .nothing { open(.object, &frame) }
        if frame.kind == .value { return }
        if frame.kind == .object { sortMembers(of: frame) }
        depth -= 1
        if isPretty { breakLine() }
        buffer.append(UInt8(ascii: frame.kind == .object ? "}" : "]"))
    }

    private func sortMembers(of frame: Frame) {
        defer { members.removeSubrange(frame.firstMember...) }
        let own = members[frame.firstMember...]
        guard let first = own.first, zip(own, own.dropFirst()).contains(where: { $0.key > $1.key }) else { return }
        let separator = isPretty ? 2 + indentation : 1
        sorted.removeAll()
        for index in own.indices.sorted(by: { own[$0].key < own[$1].key }) {
            if sorted.count > 0 { writeSeparator(to: &sorted) }
            let end = index + 1 < own.endIndex ? own[index + 1].start - separator : buffer.count
            buffer.withUnsafeBytes { sorted.append(UnsafeRawBufferPointer(rebasing: $0[own[index].start..<end])) }
        }
        buffer.truncate(to: first.start)
        sorted.withUnsafeBytes { buffer.append($0) }
    }

    private func open(_ kind: Kind, _ frame: inout Frame) {
        frame.kind = kind
        frame.firstMember = members.count
        depth += 1
        buffer.append(UInt8(ascii: kind == .object ? "{" : "["))
        if isPretty { buffer.append(UInt8(ascii: "\n")) }
    }

    /// Opens an object or an array for the innermost value, unless it already has one.
    private func open(_ kind: Kind) -> Int {
        let level = frames.count - 1
        if frames[level].kind == .nothing { open(kind, &frames[level]) }
        precondition(frames[level].kind == kind, "A value is an object, an array, or neither.")
        return level
    }

    private var indentation: Int { 2 * depth }

    private func writeSeparator(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: ","))
        guard isPretty else { return }
        buffer.append(UInt8(ascii: "\n"))
        for _ in 0..<indentation { buffer.append(UInt8(ascii: " ")) }
    }

    private func breakLine() {
        buffer.append(UInt8(ascii: "\n"))
        for _ in 0..<indentation { buffer.append(UInt8(ascii: " ")) }
    }

    // MARK: Containers

    /// Begins the next value in an object or array.
    fileprivate func beginElement(at level: Int) {
        // Anything nested before is complete.
        finish(downTo: level + 1)
        if frames[level].count > 0 {
            writeSeparator(to: &buffer)
        } else if isPretty {
            for _ in 0..<indentation { buffer.append(UInt8(ascii: " ")) }
        }
        frames[level].count += 1
    }

    fileprivate func beginMember(_ key: some CodingKey, at level: Int) {
        beginElement(at: level)
        let name = key.stringValue
        members.append(Member(key: name, start: buffer.count))
        buffer.append(jsonString: name)
        buffer.append(utf8: isPretty ? " : " : ":")
    }

    fileprivate func count(at level: Int) -> Int { frames[level].count }

    /// Begins a value whose text is written through the returned encoder.
    fileprivate func nest() -> Self {
        frames.append(Frame())
        return self
    }
}

extension JSONText: Encoder {
    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Object(text: self, level: open(.object)))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer { Elements(text: self, level: open(.array)) }

    package func singleValueContainer() -> any SingleValueEncodingContainer {
        frames[frames.count - 1].kind = .value
        return Single(text: self)
    }
}

private struct Object<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let text: JSONText
    let level: Int
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil(forKey key: Key) {
        text.beginMember(key, at: level)
        text.writeNull()
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        text.beginMember(key, at: level)
        try text.write(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        text.beginMember(key, at: level)
        return text.nest().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        text.beginMember(key, at: level)
        return text.nest().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { preconditionFailure("No message inherits from another.") }
    mutating func superEncoder(forKey key: Key) -> any Encoder {
        text.beginMember(key, at: level)
        return text.nest()
    }
}

private struct Elements: UnkeyedEncodingContainer {
    let text: JSONText
    let level: Int
    var codingPath: [any CodingKey] { [] }
    var count: Int { text.count(at: level) }

    mutating func encodeNil() {
        text.beginElement(at: level)
        text.writeNull()
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        text.beginElement(at: level)
        try text.write(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        text.beginElement(at: level)
        return text.nest().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        text.beginElement(at: level)
        return text.nest().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        text.beginElement(at: level)
        return text.nest()
    }
}

private struct Single: SingleValueEncodingContainer {
    let text: JSONText
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() { text.writeNull() }

    mutating func encode<Value: Encodable>(_ value: Value) throws { try text.write(value) }
}
