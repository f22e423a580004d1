package import Messages
package import Recording

/// An example of a format that is not built in: `logfmt`, as many log viewers read it. A record is a line of `name=value` pairs.
///
///     # uptime timestamp stepPath sensorType x timestampDate marker …
///     uptime=12.5 timestamp=0 stepPath="Walk/out" timestampDate="2026-11-21T08:00:00Z" marker="start" ;
///     uptime=12.51 timestamp=0.01 stepPath="Walk/out" sensorType="gyro" x=1.50 ;
///
/// Values are JSON. A name is quoted if it contains characters other than letters, digits, "_", "-" and ".".
package struct LogfmtFormatter: LogFormatter {
    package let name = "logfmt"
    package let number = 16
    package let contentType = "text/plain"

    /// The end of a line, which appears nowhere else outside quotes.
    private static let end = Array(";".utf8)

    package init() {}

    package func header(of members: [String]) -> String {
        "# " + members.map { $0.replacing("\n", with: " ") }.joined(separator: " ")
    }

    package func append(_ object: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
        var scanner = JSONScanner(object)
        _ = scanner.skip(UInt8(ascii: "{"))
        while let key = try? scanner.skipString(), scanner.skip(UInt8(ascii: ":")), let value = try? scanner.skipValue()
        {
            let name = UnsafeRawBufferPointer(rebasing: object[(key.lowerBound + 1)..<(key.upperBound - 1)])
            buffer.append(
                !name.isEmpty && name.allSatisfy(Self.isPlain) ? name : UnsafeRawBufferPointer(rebasing: object[key]))
            buffer.append(UInt8(ascii: "="))
            buffer.append(UnsafeRawBufferPointer(rebasing: object[value]))
            buffer.append(UInt8(ascii: " "))
            guard scanner.skip(UInt8(ascii: ",")) else { break }
        }
        buffer.append(Self.end)
    }

    package func object(of line: UnsafeRawBufferPointer) -> [UInt8]? {
        var object = Array("{".utf8)
        object.reserveCapacity(line.count + 16)
        var place = 0
        while place < line.count, !line[place...].elementsEqual(Self.end) {
            if place > 0 { object.append(UInt8(ascii: ",")) }
            var end = place
            if line[place] == UInt8(ascii: "\"") {
                var scanner = JSONScanner(line, in: place..<line.count)
                guard let key = try? scanner.skipString() else { return nil }
                end = key.upperBound
                object += line[key]
            } else {
                while end < line.count, Self.isPlain(line[end]) { end += 1 }
                guard end > place else { return nil }
                object += Array("\"".utf8) + line[place..<end] + Array("\"".utf8)
            }
            guard end < line.count, line[end] == UInt8(ascii: "=") else { return nil }
            object.append(UInt8(ascii: ":"))
            var scanner = JSONScanner(line, in: (end + 1)..<line.count)
            guard let value = try? scanner.skipValue(), value.lowerBound == end + 1, value.upperBound < line.count,
                line[value.upperBound] == UInt8(ascii: " ")
            else { return nil }
            object += line[value]
            place = value.upperBound + 1
        }
        guard place > 0, place < line.count else { return nil }
        return object + Array("}".utf8)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension LogFormat {
    /// The example format, registered.
    package static let logfmt: LogFormat = {
        add(LogfmtFormatter())
        guard let format = LogFormat(rawValue: LogfmtFormatter().name) else { preconditionFailure("it was added") }
        return format
    }()
}
