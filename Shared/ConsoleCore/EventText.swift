package import Messages

/// Writes Server-Sent Events. Each has one line of JSON, so nothing that a program publishes can begin an event of its own.
package enum EventText {
    /// Samples were left out for a viewer.
    package static func behind(samples: Int) -> [UInt8] { event("behind", Array(#"{"samples":\#(samples)}"#.utf8)) }

    /// What a viewer may do.
    package static func roles(_ role: Role) -> [UInt8] {
        let names = Role.allCases.filter { $0 <= role }.map { "\"\($0.rawValue)\"" }
        return event("roles", Array("[\(names.joined(separator: ","))]".utf8))
    }

    /// How things are.
    package static func state(_ body: [UInt8]) -> [UInt8] { event("state", body) }

    /// What a program published, as it is.
    /// - Parameter body: valid JSON.
    package static func bus(schema: String, _ body: UnsafeRawBufferPointer) -> [UInt8] {
        var buffer = ByteBuffer(capacity: body.count + 64)
        buffer.append(utf8: #"{"topic":"#)
        buffer.append(jsonString: schema)
        buffer.append(utf8: #","event":"#)
        buffer.append(body)
        buffer.append(utf8: "}")
        return event("bus", buffer.withUnsafeBytes { Array($0) })
    }

    private static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        var bytes = Array("event: \(name)\ndata: ".utf8)
        bytes.reserveCapacity(bytes.count + json.count + 2)
        for byte in json { bytes.append(oneLine(byte)) }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// Between the parts of JSON an end of line is as good as a blank; within its texts there is none.
    @inline(__always)
    static func oneLine(_ byte: UInt8) -> UInt8 {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? UInt8(ascii: " ") : byte
    }
}

extension ByteBuffer {
    /// Appends seconds since the start of 1970, to the microsecond.
    mutating func append(unixTime nanoseconds: Int64) {
        let microseconds = nanoseconds / 1_000
        if microseconds < 0 { append(UInt8(ascii: "-")) }
        append(Int64((microseconds / 1_000_000).magnitude))
        var rest = (microseconds % 1_000_000).magnitude
        guard rest != 0 else { return }
        append(UInt8(ascii: "."))
        var unit: UInt64 = 100_000
        while rest != 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / unit))
            rest %= unit
            unit /= 10
        }
    }

    /// The same; null for none.
    mutating func append(time nanoseconds: Int64?) {
        if let nanoseconds { append(unixTime: nanoseconds) } else { append(utf8: "null") }
    }

    /// Appends a number as JSON; null for what JSON has no number for.
    mutating func append(numberOrNull number: Double) {
        if number.isFinite { append(text: number) } else { append(utf8: "null") }
    }
}
