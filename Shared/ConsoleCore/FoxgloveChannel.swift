import Export
import Messages

/// A stream as a Foxglove channel: a topic with the schema of its messages.
struct FoxgloveChannel: Hashable {
    enum Kind: Hashable {
        case json
        case imu
    }

    struct Wire: Encodable {
        var id: UInt32
        var topic: String
        var encoding: String
        var schemaName: String
        var schemaEncoding: String
        var schema: String
    }

    var id: UInt32
    let stream: StreamName
    let kind: Kind
    /// Advertised together with the number.
    let topic: String
    let schema: String

    /// The channels of a stream, without numbers.
    /// - Parameter topics: those of all channels.
    static func all(of stream: StreamDescription, topics: inout TopicNames) -> [FoxgloveChannel] {
        let topic = topics.add("/\(TopicNames.name(stream.device))/\(TopicNames.name(stream.stream))")
        let units = ColumnUnits.units(of: stream.fields, in: stream.unit)
        let properties = stream.fields.enumerated().dropFirst().map { index, name in
            let type = FieldType.type(of: index, in: stream.types)
            return (name, Self.name(of: type), type == .number ? units[index] : nil)
        }
        let json = FoxgloveChannel(
            id: 0, stream: stream.name, kind: .json, topic: topic,
            schema: JSONSchema.text(title: stream.name.description, properties))
        guard StreamMessages.axes(of: stream, fields: stream.fields, types: stream.types) != nil else { return [json] }
        return [
            json,
            FoxgloveChannel(
                id: 0, stream: stream.name, kind: .imu, topic: topics.add("\(topic)/imu"), schema: ImuMessage.schema),
        ]
    }

    private static func name(of type: FieldType) -> String {
        switch type {
        case .number: "number"
        case .text, .date: "string"
        case .boolean: "boolean"
        default: "object"
        }
    }

    var wire: Wire {
        switch kind {
        case .json:
            Wire(
                id: id, topic: topic, encoding: "json", schemaName: stream.description, schemaEncoding: "jsonschema",
                schema: schema)
        case .imu:
            Wire(
                id: id, topic: topic, encoding: "cdr", schemaName: ImuMessage.schemaName, schemaEncoding: "ros2msg",
                schema: schema)
        }
    }
}

/// The services offered to Foxglove; each is a method of the bus.
enum FoxgloveService: UInt32, CaseIterable {
    case start = 1
    case stop
    case annotate

    struct Wire: Encodable {
        struct Part: Encodable {
            var encoding = "json"
            var schemaName: String
            var schemaEncoding = "jsonschema"
            var schema: String
        }

        var id: UInt32
        var name: String
        var type: String
        var request: Part
        var response: Part
        // Older viewers require these.
        var requestSchema = ""
        var responseSchema = ""
    }

    var method: String {
        switch self {
        case .start: RecordingStart.method
        case .stop: RecordingStop.method
        case .annotate: RecordingAnnotate.method
        }
    }

    private var properties: [(name: String, type: String, description: String?)] {
        switch self {
        case .start:
            [
                ("session", "string", "its name; one is made if it is not given"), ("task", "string", nil),
                ("step", "string", nil), ("streams", "array", "DEVICE/STREAM, DEVICE/ or *; all if it is not given"),
                ("duration", "number", "seconds"), ("before", "number", "seconds that it begins before now"),
            ]
        case .stop: [("session", "string", "the one that runs if it is not given")]
        case .annotate:
            [
                ("label", "string", nil), ("note", "string", nil),
                ("session", "string", "the one that runs if it is not given"),
            ]
        }
    }

    var wire: Wire {
        let name = "/" + String(method.map { $0 == "." ? "/" : $0 })
        return Wire(
            id: rawValue, name: name, type: method,
            request: Wire.Part(
                schemaName: "\(method).request", schema: JSONSchema.text(title: "\(method).request", properties)),
            response: Wire.Part(
                schemaName: "\(method).response", schema: JSONSchema.text(title: "\(method).response", [])))
    }
}
