package import Messages

/// The NATS subjects of a stream: `holdfast.<site>.<device>.<stream>` for its samples, and `….description` for its descriptions.
///
/// A token of a subject must not contain dots, blanks, `*` or `>`. These characters, control characters and `%` are written as
/// `%` and two hexadecimal digits for each byte of UTF-8.
package struct RelaySubject: Hashable, Sendable {
    package static let root = "holdfast"
    private static let description = "description"

    package let site: String
    package let name: StreamName

    package init(site: String, name: StreamName) {
        self.site = site
        self.name = name
    }

    /// - Returns: nil if the subject does not belong to a stream.
    package init?(_ subject: String) {
        let parts = subject.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 || parts.count == 5 && parts[4] == Self.description, parts[0] == Self.root,
            let site = Self.plain(parts[1]), let device = Self.plain(parts[2]), let stream = Self.plain(parts[3]),
            let name = StreamName("\(device)/\(stream)")
        else { return nil }
        self.init(site: site, name: name)
    }

    /// The subject of the stream's samples.
    package var samples: String {
        [Self.root, Self.escaped(site), Self.escaped(name.device), Self.escaped(name.stream)].joined(separator: ".")
    }

    /// The subject of the stream's descriptions.
    package var descriptions: String { "\(samples).\(Self.description)" }

    /// Whether a stream's subject is that of its descriptions. The samples of a stream named `description` have a subject with
    /// the same end and one part less.
    package static func isDescription(_ subject: String) -> Bool {
        subject.hasSuffix(".\(description)") && subject.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 4
    }

    /// A wildcard for all subjects of a site; of all sites if `site` is nil.
    package static func everything(of site: String?) -> String { "\(root).\(site.map(escaped) ?? "*").>" }

    private static func escaped(_ part: String) -> String {
        var text = ""
        for scalar in part.unicodeScalars {
            if scalar.value <= 0x20 || scalar.value == 0x7F || ".*>%".unicodeScalars.contains(scalar) {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                text += digits.count < 2 ? "%0\(digits)" : "%\(digits)"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func plain(_ part: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(part.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
