import Messages

/// JSON schemas of messages, in the subset that viewers understand: a type for each property.
package enum JSONSchema {
    static func text(of stream: ExportedStream) -> String {
        text(
            title: stream.name.description,
            zip(stream.columns, stream.columnUnits).map { column, unit in
                let type =
                    switch column.kind {
                    case .number: "number"
                    case .text: "string"
                    case .boolean: "boolean"
                    case .json: "object"
                    }
                return (column.name, type, column.kind == .number ? unit : nil)
            })
    }

    package static func text(title: String, _ properties: [(name: String, type: String, description: String?)])
        -> String
    {
        var buffer = ByteBuffer(capacity: 512)
        buffer.append(utf8: #"{"type":"object","title":"#)
        buffer.append(jsonString: title)
        buffer.append(utf8: #","properties":{"#)
        for (index, property) in properties.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(jsonString: property.name)
            buffer.append(utf8: #":{"type":"\#(property.type)""#)
            if let description = property.description {
                buffer.append(utf8: #","description":"#)
                buffer.append(jsonString: description)
            }
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(utf8: "}}")
        return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
