package import Messages

/// The content of `info.txt` in a `.gt3x` file: lines of a key, a colon and a value.
///
/// actigraph/GT3X-File-Format, info.txt.md.
package struct ActiGraphInfo: Hashable, Sendable {
    package let values: [String: String]

    package init(_ text: String) {
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            // The file may begin with a byte order mark.
            let key = String(parts[0].drop { $0 == "\u{FEFF}" || $0.isWhitespace })
            values[key] = String(parts[1].drop(while: \.isWhitespace))
        }
        self.values = values
    }

    package var rate: Int? {
        guard let rate = values["Sample Rate"].flatMap({ Int($0) }), (1...10_000).contains(rate) else { return nil }
        return rate
    }
    package var serial: String { values["Serial Number"] ?? "" }

    /// Counts for 1 g, if the file states them or they are the same for all devices of its kind.
    var scale: Double? {
        if let scale = values["Acceleration Scale"].flatMap({ Double($0) }), scale > 0, scale.isFinite { return scale }
        return switch serial.prefix(3) {
        case "NEO", "CLE": 341
        case "MOS", "TAS": 256
        default: nil
        }
    }

    /// Seconds by which the device's clock is ahead of UTC; nil if the file does not state it. `TimeZone: -05:00:00`.
    package var zone: Int? {
        guard var text = values["TimeZone"]?[...] else { return nil }
        let isWest = text.first == "-"
        if isWest || text.first == "+" { text.removeFirst() }
        let parts = text.split(separator: ":").map { Int($0) ?? -1 }
        guard (2...3).contains(parts.count), parts.allSatisfy({ (0..<60).contains($0) }), parts[0] < 24 else {
            return nil
        }
        let seconds = parts[0] * 3600 + parts[1] * 60 + (parts.count > 2 ? parts[2] : 0)
        return isWest ? -seconds : seconds
    }

    /// Whether the device's axes are rotated, as with firmware 1.6.0 of the MOS series.
    var isTurned: Bool { serial.hasPrefix("MOS") && values["Firmware"] == "1.6.0" }

    /// The values to keep in a session: not those about the person who wore the device.
    package var keys: [String: JSONValue] {
        let personal: Set = ["Subject Name", "Sex", "Height", "Mass", "Age", "Race", "DateOfBirth"]
        return values.filter { !personal.contains($0.key) }.mapValues { .string($0) }
    }
}
