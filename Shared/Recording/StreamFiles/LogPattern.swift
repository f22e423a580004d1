/// The name of a log, or a pattern of names in which each `*` matches any characters: `left-*`.
package struct LogPattern: Hashable, Sendable, CustomStringConvertible {
    /// Many more than anybody needs; each makes a comparison longer.
    private static let maximumStars = 8

    package let text: String
    /// The only log of that name; nil for a pattern.
    package let log: LogName?

    /// - Returns: nil if no log can have this name, or a name that matches this pattern.
    package init?(_ text: String) {
        self.text = text
        log = LogName(existing: text)
        if log != nil { return }
        let stars = text.utf8.count { $0 == Self.star }
        let literals = text.filter { $0 != "*" }
        guard (1...Self.maximumStars).contains(stars), literals.isEmpty || LogName.canContain(literals) else {
            return nil
        }
    }

    private static let star = UInt8(ascii: "*")

    /// Bytes that a name must have. Of two patterns, the one with more is the more exact.
    package var literalBytes: Int { text.utf8.count { $0 != Self.star } }

    /// Whether the name equals this one, or matches this pattern.
    package func matches(_ name: LogName) -> Bool {
        if let log { return log.text.utf8.elementsEqual(name.text.utf8) }
        let (pattern, bytes) = (Array(text.utf8), Array(name.text.utf8))
        var (at, next) = (0, 0)
        // The place of the last star, and where its match ends at the earliest.
        var star: (pattern: Int, taken: Int)?
        while next < bytes.count {
            if at < pattern.count, pattern[at] == Self.star {
                star = (at, next)
                at += 1
            } else if at < pattern.count, pattern[at] == bytes[next] {
                at += 1
                next += 1
            } else if let last = star {
                star = (last.pattern, last.taken + 1)
                (at, next) = (last.pattern + 1, last.taken + 1)
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == Self.star }
    }

    package var description: String { text }
}
