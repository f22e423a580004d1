import Messages

/// Makes records from the members of JSON objects or the cells of a table: the value of each field, as JSON text.
///
/// A field that a line lacks is `null`. A value keeps its digits and escapes; only blanks in arrays and objects are removed. A
/// value of the wrong type is an error, and so is a repeated member.
struct RecordParser {
    private struct Member {
        let name: String
        let value: Range<Int>
    }

    /// The source of a field's value.
    private struct Source {
        let name: String
        let type: FieldType
        /// If the name has a point: the object's member that holds the value, and the member inside it.
        let nested: (outer: String, inner: String)?
        /// The value if a line lacks it.
        let missing: String

        init(_ name: String, _ type: FieldType, missing: String = "null") {
            self.name = name
            self.type = type
            self.missing = missing
            nested = name.firstIndex(of: ".").map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
        }
    }

    /// The names of the fields, in their order.
    let fields: [String]
    let types: [FieldType]
    /// The first members that are not published, up to `maximumLeftOut`.
    private(set) var leftOut: [String] = []
    /// The values of the last record, separated by commas.
    private(set) var record: [UInt8] = []

    /// The names of the fields in the input.
    var columns: [String] { sources.map(\.name) }

    private let sources: [Source]
    /// The indexes of the sources, by the member's name.
    private let places: [String: Int]
    private let outerNames: Set<String>
    private let timeName: String?
    private var found: [Range<Int>?]

    /// The most names of left-out members to keep.
    private static let maximumLeftOut = 16

    private init(_ fields: [String], _ sources: [Source], timeName: String?) {
        self.fields = fields
        self.sources = sources
        self.timeName = timeName
        types = sources.map(\.type)
        places = Dictionary(sources.enumerated().map { ($1.name, $0) }) { first, _ in first }
        outerNames = Set(sources.compactMap { $0.nested?.outer })
        found = [Range<Int>?](repeating: nil, count: sources.count)
    }

    // MARK: Fields

    /// Records with these fields.
    /// - Parameter names: the names in the input's first line; the time is one of them.
    init(_ fields: [FieldChoice.Field], names: [String]) {
        let others = names.filter { name in !fields.contains { $0.name == name } }
        self.init(
            fields.map(\.name), fields.map { Source($0.name, $0.type) },
            timeName: FieldOrder.timeIndex(in: others).map { others[$0] })
    }

    /// Records with these fields.
    /// - Parameter object: the input's first. One of its numbers is the time; if none is, later objects may have `t`.
    init(_ fields: [FieldChoice.Field], first object: UnsafeRawBufferPointer) throws(PublisherError) {
        let members = try Self.members(of: object)
        let numbers = members.filter { Self.type(of: object[$0.value]) == .number }.map(\.name)
        let others = numbers.filter { name in !fields.contains { $0.name == name } }
        self.init(fields, names: FieldOrder.timeIndex(in: others) == nil ? FieldOrder.timeNames : others)
    }

    /// Records with the fields of an object; nil if its values, and those of its objects, are all numbers.
    ///
    /// An object in it whose values are all numbers gives a field for each, such as `gravity.x`. Names are sorted, since their
    /// order in the text means nothing.
    init?(first object: UnsafeRawBufferPointer, _ choice: FieldChoice) throws(PublisherError) {
        let members = try Self.members(of: object)
        let numbers = members.filter { Self.type(of: object[$0.value]) == .number }.map(\.name)
        let timeName = FieldOrder.timeIndex(in: numbers).map { numbers[$0] }
        var types: [String: FieldType] = [:]
        for member in members
        where member.name != timeName && !FieldOrder.isReserved(member.name, besideTime: timeName) {
            let type = Self.type(of: object[member.value])
            types[member.name] = type
            guard object[member.value.lowerBound] == UInt8(ascii: "{") else { continue }
            let inner = try Self.members(of: UnsafeRawBufferPointer(rebasing: object[member.value]))
            let innerTypes = inner.map { inner in
                let place = member.value.lowerBound
                return Self.type(of: object[place + inner.value.lowerBound..<place + inner.value.upperBound])
            }
            guard choice.isMotion || !inner.isEmpty && innerTypes.allSatisfy({ $0 == .number }) else { continue }
            types[member.name] = nil
            for (inner, type) in zip(inner, innerTypes) { types["\(member.name).\(inner.name)"] = type }
        }
        if choice.isMotion {
            guard let sources = Self.motion(types) else { return nil }
            self.init(sources.map(\.field), sources.map(\.source), timeName: timeName)
            return
        }
        guard types.values.contains(where: { $0 != .number }) else { return nil }
        guard types.count <= FieldChoice.maximumCount else {
            throw PublisherError(
                .invalidInput,
                "\(types.count) fields are too many: name those to publish, up to \(FieldChoice.maximumCount)")
        }
        let names = FieldOrder.sorted(types.keys.sorted())
        try FieldChoice.check(names)
        self.init(names, names.map { Source($0, types[$0] ?? .json) }, timeName: timeName)
    }

    /// Device motion of a table; nil if all the columns it uses are numbers.
    init?(motion columns: [String]) {
        guard columns.contains("referenceCoordinate") else { return nil }
        let types = columns.map { ($0, $0 == "referenceCoordinate" ? FieldType.text : .number) }
        guard let sources = Self.motion(Dictionary(types) { first, _ in first }) else { return nil }
        self.init(sources.map(\.field), sources.map(\.source), timeName: nil)
    }

    /// The sources of the fields of device motion; nil if all fields are numbers.
    private static func motion(_ types: [String: FieldType]) -> [(field: String, source: Source)]? {
        let optional = DeviceMotion.optionalFields.filter { types[$0] != nil }
        guard optional.contains(where: { types[$0] != .number }) else { return nil }
        let components = DeviceMotion.fields.enumerated().map { index, field in
            let axis = ["x", "y", "z"][index % 3]
            let name = types[field] == nil && index < 3 && types[axis] != nil ? axis : field
            return (field, Source(name, .number, missing: types[name] == nil ? "0" : "null"))
        }
        return components + optional.map { ($0, Source($0, types[$0] ?? .json)) }
    }

    private static func type(of value: Slice<UnsafeRawBufferPointer>) -> FieldType {
        switch value.first {
        case UInt8(ascii: "\""):
            let text = JSONScanner.string(at: 0..<value.count, in: UnsafeRawBufferPointer(rebasing: value))
            return (try? WallTime(iso8601: text)) == nil ? .text : .date
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"), UInt8(ascii: "["), UInt8(ascii: "{"): return .json
        default: return .number
        }
    }

    private static func members(of object: UnsafeRawBufferPointer) throws(PublisherError) -> [Member] {
        var members: [Member] = []
        try forEachMember(of: object) { key, value in
            members.append(Member(name: JSONScanner.string(at: key, in: object), value: value))
        }
        return members
    }

    private static func forEachMember(
        of object: UnsafeRawBufferPointer,
        _ body: (_ key: Range<Int>, _ value: Range<Int>) throws(PublisherError) -> Void
    ) throws(PublisherError) {
        var scanner = JSONScanner(object)
        func malformed(_ error: MessageError) -> PublisherError { PublisherError(.invalidInput, error.message) }
        do throws(MessageError) { try scanner.expect(UInt8(ascii: "{")) } catch {
            throw PublisherError(.invalidInput, "a JSON object was expected")
        }
        if !scanner.skip(UInt8(ascii: "}")) {
            repeat {
                let key: Range<Int>
                let value: Range<Int>
                do throws(MessageError) {
                    key = try scanner.skipString()
                    try scanner.expect(UInt8(ascii: ":"))
                    value = try scanner.skipValue(ofDepth: FieldType.maximumDepth)
                } catch {
                    throw malformed(error)
                }
                try body(key, value)
            } while scanner.skip(UInt8(ascii: ","))
            do throws(MessageError) { try scanner.expect(UInt8(ascii: "}")) } catch { throw malformed(error) }
        }
        do throws(MessageError) { try scanner.finish() } catch { throw malformed(error) }
    }

    // MARK: Objects

    /// Reads an object into `record`.
    /// - Returns: the object's time in nanoseconds, if it has one.
    /// - Throws: `invalidInput` if the object cannot be read.
    mutating func parse(_ object: UnsafeRawBufferPointer) throws(PublisherError) -> Int64? {
        for index in found.indices { found[index] = nil }
        var time: Int64?
        try Self.forEachMember(of: object) { (key, value) throws(PublisherError) in
            let name = JSONScanner.string(at: key, in: object)
            if name == timeName {
                time = Nanoseconds.from(text: UnsafeRawBufferPointer(rebasing: object[value]))
                if time == nil { throw PublisherError(.invalidInput, "\"\(name)\" is not a time in seconds") }
            } else if let place = places[name] {
                try note(value, at: place)
            } else if outerNames.contains(name), object[value.lowerBound] == UInt8(ascii: "{") {
                let inner = UnsafeRawBufferPointer(rebasing: object[value])
                try Self.forEachMember(of: inner) { (innerKey, innerValue) throws(PublisherError) in
                    guard let place = places["\(name).\(JSONScanner.string(at: innerKey, in: inner))"] else { return }
                    try note(
                        value.lowerBound + innerValue.lowerBound..<value.lowerBound + innerValue.upperBound, at: place)
                }
            } else {
                leaveOut(name)
            }
        }
        record.removeAll(keepingCapacity: true)
        for (index, source) in sources.enumerated() {
            if index > 0 { record.append(UInt8(ascii: ",")) }
            guard let value = found[index] else {
                record += source.missing.utf8
                continue
            }
            try append(UnsafeRawBufferPointer(rebasing: object[value]), of: source)
        }
        return time
    }

    private mutating func note(_ value: Range<Int>, at place: Int) throws(PublisherError) {
        guard found[place] == nil else {
            throw PublisherError(.invalidInput, "\"\(sources[place].name)\" appears twice")
        }
        found[place] = value
    }

    private func checked(_ value: UnsafeRawBufferPointer, of source: Source) throws(PublisherError) {
        guard source.type.accepts(value) else {
            throw PublisherError(
                .invalidInput,
                "\"\(source.name)\" is \(String(decoding: value.prefix(40), as: UTF8.self)), which is not "
                    + "\(source.type.rawValue); name its type, as \"fields\" \(source.name):json for any value")
        }
    }

    private mutating func append(_ value: UnsafeRawBufferPointer, of source: Source) throws(PublisherError) {
        try checked(value, of: source)
        if value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[") {
            record += JSONScanner.withoutBlanks(value)
        } else {
            record += value
        }
    }

    private mutating func leaveOut(_ name: String) {
        guard !FieldOrder.isReserved(name, besideTime: timeName), leftOut.count < Self.maximumLeftOut,
            !leftOut.contains(name)
        else { return }
        leftOut.append(name)
    }

    // MARK: Cells

    /// Begins a record of a table's cells.
    mutating func begin() {
        record.removeAll(keepingCapacity: true)
    }

    /// Adds the next field's cell to `record`: without its quotes, as JSON. An empty cell is `null`.
    /// - Parameter text: the cell; nil if the table has no such column.
    mutating func append(cell text: String?, at index: Int) throws(PublisherError) {
        let source = sources[index]
        if index > 0 { record.append(UInt8(ascii: ",")) }
        guard let text, !text.isEmpty else {
            record += (text == nil ? source.missing : "null").utf8
            return
        }
        var buffer = ByteBuffer(capacity: text.utf8.count + 2)
        switch source.type {
        case .number:
            if !Array(text.utf8).withUnsafeBytes(Self.isNumber) {
                guard let number = Double(text) else {
                    throw PublisherError(.invalidInput, "\(source.name): \"\(text)\" is not a number")
                }
                buffer.append(json: number)
            } else {
                buffer.append(utf8: text)
            }
        case .boolean, .json:
            let isJSON = Array(text.utf8).withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                return (try? scanner.skipValue(ofDepth: FieldType.maximumDepth)) != nil
                    && (try? scanner.finish()) != nil
            }
            guard isJSON else {
                throw PublisherError(
                    .invalidInput, "\(source.name): \"\(text.prefix(40))\" is not \(source.type.rawValue)")
            }
            buffer.append(utf8: text)
        default: buffer.append(jsonString: text)
        }
        try buffer.withUnsafeBytes { (bytes) throws(PublisherError) in try append(bytes, of: source) }
    }

    /// Whether it is a number in JSON's notation.
    private static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var scanner = JSONScanner(text)
        return (try? scanner.skipNumber()) != nil && scanner.index == text.count
    }
}
