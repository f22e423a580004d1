import Messages

/// The format of a message that has no path to state it: in a datagram, or from a broker.
package enum PushedFormat: Hashable, Sendable {
    case numbered
    case sensorLogger
    case sensaGram
    case hyperIMU
    case phyphox

    /// Determines the format by an object's members.
    /// - Throws: `invalidInput` if it is not JSON, or of no known format.
    package init(_ body: [UInt8]) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.find(JSONParts(UnsafeRawBufferPointer(bytes)))
        }
    }

    static func find(_ parts: JSONParts) throws(PublisherError) -> PushedFormat {
        var found: PushedFormat?
        try parts.forEachMember(of: parts.whole, "the message") { (name, value) throws(PublisherError) in
            switch name {
            case "samples": found = found ?? .numbered
            case "messageId": found = found ?? .sensorLogger
            case "type": found = found ?? .sensaGram
            case "os" where parts[value].elementsEqual("\"hyperimu\"".utf8): found = found ?? .hyperIMU
            case UnnumberedSamples.phyphoxClock where parts[value].first == UInt8(ascii: "{"): found = found ?? .phyphox
            default: break
            }
        }
        guard let found else {
            throw PublisherError(
                .invalidInput,
                "the message's kind is unknown: it needs device, stream, first and samples, or what Sensor Logger, SensaGram "
                    + "or HyperIMU send")
        }
        return found
    }
}

extension UnnumberedSamples {
    /// Reads a message of SensaGram.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(sensaGram body: [UInt8], from device: String, at arrival: Int64) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.sensaGram(JSONParts(UnsafeRawBufferPointer(bytes)), from: device, at: arrival)
        }
    }

    /// Reads a JSON message of HyperIMU.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(hyperIMU body: [UInt8], from device: String, at arrival: Int64) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.hyperIMU(JSONParts(UnsafeRawBufferPointer(bytes)), from: device, at: arrival)
        }
    }

    /// Reads a CSV line of HyperIMU.
    /// - Throws: `invalidInput` if it is not such a line.
    package init(csv line: [UInt8], from device: String, at arrival: Int64) throws(PublisherError) {
        self = try line.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.hyperIMU(csv: UnsafeRawBufferPointer(bytes), from: device, at: arrival)
        }
    }
}
