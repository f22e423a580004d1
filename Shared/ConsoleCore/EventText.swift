package import Messages

/// Writes Server-Sent Events. Each has one line of JSON, so no published text can begin an event of its own.
package enum EventText {
    /// Reports that samples were left out for a viewer.
    package static func behind(samples: Int) -> [UInt8] { event("behind", Array(#"{"samples":\#(samples)}"#.utf8)) }

    /// Reports the viewer's roles.
    package static func roles(_ role: Role) -> [UInt8] {
        let names = Role.allCases.filter { $0 <= role }.map { "\"\($0.rawValue)\"" }
        return event("roles", Array("[\(names.joined(separator: ","))]".utf8))
    }

    /// Reports the current state.
    package static func state(_ body: [UInt8]) -> [UInt8] { event("state", body) }

    /// Passes on a published event.
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

    /// Between JSON tokens, a line break can be replaced by a space; inside strings there is none.
    @inline(__always)
    static func oneLine(_ byte: UInt8) -> UInt8 {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? UInt8(ascii: " ") : byte
    }
}

extension ByteBuffer {
    /// Appends seconds since 1970, to the microsecond.
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

    /// Appends a time like `append(unixTime:)`, or null.
    mutating func append(time nanoseconds: Int64?) {
        if let nanoseconds { append(unixTime: nanoseconds) } else { append(utf8: "null") }
    }

    /// Appends a number as JSON; null if JSON can't represent it.
    mutating func append(numberOrNull number: Double) {
        if number.isFinite { append(text: number) } else { append(utf8: "null") }
    }
}
