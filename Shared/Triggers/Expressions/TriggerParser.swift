import Messages
import Recording
package import ServiceKit

extension TriggerExpression: ConfigurationValue {
    /// The thresholds of `logs.setThresholds`.
    private static let thresholds = ["pendingUploadBytes", "totalBytes", "minimumFreeBytes"]

    /// Reads an expression:
    ///
    ///     STREAM |a| > 3g            STREAM |FIELD,FIELD| >= 2     STREAM FIELD < 900hPa     STREAM FIELD = "fall"
    ///     STREAM rate < 80           … for 200ms                   STREAM silent 5s          threshold [NAME] [of LOG]
    package init(typed text: String) throws(InvalidValue) {
        description = text
        do throws(InvalidValue) {
            var parser = TriggerParser(text)
            subject = try parser.subject(Self.thresholds)
        } catch {
            throw InvalidValue("'\(text)' is not a trigger: \(error)")
        }
    }
}

/// Reads the parts of an expression from left to right.
private struct TriggerParser {
    private var rest: Substring

    init(_ text: String) { rest = text[...] }

    mutating func subject(_ thresholds: [String]) throws(InvalidValue) -> TriggerExpression.Subject {
        let first = word()
        if first == "threshold" { return try threshold(among: thresholds) }
        guard isPattern(first) else {
            throw InvalidValue("'\(first)' names no stream: begin with DEVICE/STREAM, DEVICE/, * or threshold")
        }
        skipSpaces()
        guard !rest.isEmpty else {
            throw InvalidValue("the condition is missing: write |a| > 3g, FIELD < 5, rate < 80 or silent 5s")
        }
        if rest.hasPrefix("silent "), let time = word(after: "silent ") {
            try finish()
            return .silence(of: first, try span(time))
        }
        let quantity = try quantity()
        skipSpaces()
        guard let comparison = TriggerExpression.Comparison.allCases.first(where: { rest.hasPrefix($0.rawValue) })
        else {
            throw InvalidValue("'\(rest)' is not a comparison: write <, <=, >, >=, = or != and a number")
        }
        rest.removeFirst(comparison.rawValue.count)
        let limit = try limit()
        if case .text = limit {
            guard case .field = quantity, comparison == .equal || comparison == .unequal else {
                throw InvalidValue("a text can only be compared with a field, using = or !=")
            }
        }
        if quantity == .rate, case .number(_, let unit?) = limit, unit != "Hz" {
            throw InvalidValue("a rate is in Hz, samples in a second")
        }
        var lasting: Int64 = 0
        skipSpaces()
        if let time = word(after: "for ") { lasting = try span(time) }
        try finish()
        return .samples(of: first, quantity, comparison, limit, lasting: lasting)
    }

    private mutating func threshold(among names: [String]) throws(InvalidValue) -> TriggerExpression.Subject {
        skipSpaces()
        var name: String?
        if !rest.isEmpty, !rest.hasPrefix("of ") {
            let found = word()
            guard names.contains(found) else {
                throw InvalidValue("'\(found)' is not a threshold: write \(names.joined(separator: ", ")) or nothing")
            }
            name = found
        }
        skipSpaces()
        guard let log = word(after: "of ") else {
            try finish()
            return .threshold(name, of: nil)
        }
        try finish()
        guard let pattern = LogPattern(log) else {
            throw InvalidValue("'\(log)' names no log: write left-wrist_accelerometer or left-*")
        }
        return .threshold(name, of: pattern)
    }

    private func isPattern(_ text: String) -> Bool {
        text == StreamName.everything || StreamName(text) != nil
            || text.hasSuffix("/") && StreamName(text + "x") != nil
    }

    private mutating func quantity() throws(InvalidValue) -> TriggerExpression.Quantity {
        guard rest.first == "|" else {
            let name = rest.prefix { !$0.isWhitespace && !"<>=!".contains($0) }
            guard !name.isEmpty else { throw InvalidValue("a field is missing before '\(rest)'") }
            rest.removeFirst(name.count)
            return name == "rate" ? .rate : .field(String(name))
        }
        rest.removeFirst()
        let inside = rest.prefix { $0 != "|" }
        let fields = inside.split(separator: ",", omittingEmptySubsequences: false).map { field in
            String(field.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        guard inside.endIndex < rest.endIndex, !fields.isEmpty, !fields.contains("") else {
            throw InvalidValue("a magnitude is |a|, for x, y and z, or |FIELD,FIELD|")
        }
        rest = rest[rest.index(after: inside.endIndex)...]
        return .magnitude(fields == ["a"] ? [] : fields)
    }

    private mutating func limit() throws(InvalidValue) -> TriggerExpression.Limit {
        skipSpaces()
        if rest.first == "\"" {
            let text = rest.dropFirst().prefix { $0 != "\"" }
            guard text.endIndex < rest.endIndex else { throw InvalidValue("the text \(rest) has no closing quote") }
            rest = rest[rest.index(after: text.endIndex)...]
            return .text(String(text))
        }
        let digits = rest.prefix { $0.isNumber && $0.isASCII || "+-.".contains($0) }
        guard let number = Double(digits), number.isFinite else {
            throw InvalidValue("'\(rest)' does not begin with a number: write 3g, 30m/s2, -1.5 or \"text\"")
        }
        rest.removeFirst(digits.count)
        let unit = word()
        if unit != "for" { return .number(number, unit: unit.isEmpty ? nil : unit) }
        rest = unit + rest
        return .number(number, unit: nil)
    }

    private func span(_ text: String) throws(InvalidValue) -> Int64 {
        let span = try TimeSpan(typed: text)
        guard span.nanoseconds > 0 else { throw InvalidValue("'\(text)' is not a time: write 200ms or 5s") }
        return span.nanoseconds
    }

    private mutating func finish() throws(InvalidValue) {
        skipSpaces()
        guard rest.isEmpty else { throw InvalidValue("'\(rest)' is not expected here: leave it out") }
    }

    private mutating func skipSpaces() { rest = rest.drop(while: \.isWhitespace) }

    private mutating func word() -> String {
        skipSpaces()
        let word = rest.prefix { !$0.isWhitespace }
        rest.removeFirst(word.count)
        return String(word)
    }

    /// The word after a prefix; nil if the prefix does not come next.
    private mutating func word(after prefix: String) -> String? {
        guard rest.hasPrefix(prefix) else { return nil }
        rest.removeFirst(prefix.count)
        return word()
    }
}
