import DequeModule
import Messages

/// An expression about samples, applied to one run of a stream's publisher: decides for each sample whether it holds,
/// and whether it already held before.
struct StreamCondition: Sendable {
    enum Verdict: Hashable, Sendable {
        case holdsNot
        /// The expression holds from this sample on: a trigger.
        case begins
        case continues
    }

    /// Most samples in a second that are counted; a faster stream seems to have this rate.
    private static let maximumRate = 1 << 16
    /// Seconds without a sample after which a rate is 0.
    private static let longestPause = 2.0

    let expression: TriggerExpression
    private let quantity: TriggerExpression.Quantity
    private let comparison: TriggerExpression.Comparison
    private let limit: TriggerExpression.Limit
    /// Seconds.
    private let lasting: Double

    /// The columns that the condition reads.
    private(set) var columns: [Int] = []
    /// Whether the column has text.
    private(set) var isOfText = false
    /// The limit in the stream's unit.
    private var number = Double.nan
    private(set) var isTrue = false
    /// The uptime of the first of the latest consecutive samples for which the comparison holds.
    private var trueSince: Double?
    private var lastUptime = -Double.infinity
    /// Uptimes of samples in the last second, for a rate.
    private var recent: Deque<Double> = []
    private var firstUptime: Double?

    var isOfRate: Bool { quantity == .rate }

    /// - Returns: nil for an expression that is not about samples.
    init?(_ expression: TriggerExpression) {
        guard case .samples(_, let quantity, let comparison, let limit, let lasting) = expression.subject else {
            return nil
        }
        self.expression = expression
        self.quantity = quantity
        self.comparison = comparison
        self.limit = limit
        self.lasting = Double(lasting) / 1e9
    }

    /// Takes the stream's columns.
    /// - Throws: `wrongColumns`, `wrongType` or `missingField` if the expression can't apply to them.
    mutating func bind(_ fields: [String], _ types: [FieldType]?, unit: String?) throws(MessageError) {
        columns = try Self.columns(of: quantity, in: fields)
        switch limit {
        case .text:
            isOfText = true
            guard let type = types?[columns[0]], type == .text || type == .date else {
                throw MessageError(.wrongType, "its field \(fields[columns[0]]) has no text")
            }
        case .number(let value, let limitUnit):
            if let types, let column = columns.first(where: { types[$0] != .number }) {
                throw MessageError(.wrongType, "its field \(fields[column]) is \(types[column].rawValue), not a number")
            }
            number = try Self.limit(value, limitUnit, in: quantity == .rate ? nil : unit, isRate: quantity == .rate)
        }
    }

    private static func columns(
        of quantity: TriggerExpression.Quantity, in fields: [String]
    ) throws(MessageError) -> [Int] {
        let names: [String]
        switch quantity {
        case .rate: return []
        case .field(let name): names = [name]
        case .magnitude(let given) where !given.isEmpty: names = given
        case .magnitude:
            if fields.contains("magnitude"), !fields.contains("x") {
                names = ["magnitude"]
            } else {
                names = fields.count == 2 ? [fields[1]] : ["x", "y", "z"]
            }
        }
        var columns: [Int] = []
        for name in names {
            guard let column = fields.firstIndex(of: name) else {
                throw MessageError(
                    .wrongColumns,
                    "it has no field \(name), only \(fields.prefix(16).joined(separator: ", "))")
            }
            columns.append(column)
        }
        return columns
    }

    /// A limit in a stream's unit.
    private static func limit(
        _ value: Double, _ unit: String?, in streamUnit: String?, isRate: Bool
    ) throws(MessageError) -> Double {
        guard let unit, !isRate, unit != streamUnit else { return value }
        guard let streamUnit else {
            throw MessageError(
                .missingField,
                "it has no unit, and the limit is in \(unit): start its publisher with --unit, or leave the unit out")
        }
        guard let from = AccelerationUnit(unit), let to = AccelerationUnit(streamUnit) else {
            throw MessageError(.wrongType, "its unit is \(streamUnit), and the limit is in \(unit)")
        }
        return from == to ? value : value / from.perG * to.perG
    }

    /// The uptime at which `pass` may find another verdict if no sample comes first; nil if there is none.
    var nextPass: Double? {
        guard isOfRate, firstUptime != nil else { return nil }
        let end = lastUptime + Self.longestPause
        // Only `pass` leaves no samples to count.
        if !recent.isEmpty { return end }
        return isTrue ? nil : trueSince.map { max(end, $0 + lasting) }
    }

    /// The value of a sample that is compared with the limit.
    /// - Parameter numbers: the sample's numbers by column.
    mutating func value(at uptime: Double, of numbers: [Double]) -> Double? {
        switch quantity {
        case .field: numbers[columns[0]]
        case .magnitude: columns.reduce(0) { $0 + numbers[$1] * numbers[$1] }.squareRoot()
        case .rate: rate(at: uptime)
        }
    }

    private mutating func rate(at uptime: Double) -> Double? {
        if recent.count == Self.maximumRate { recent.removeFirst() }
        recent.append(uptime)
        while let first = recent.first, first <= uptime - 1 { recent.removeFirst() }
        let first = firstUptime ?? uptime
        firstUptime = first
        return uptime - first >= 1 ? Double(recent.count) : nil
    }

    /// Takes a sample.
    /// - Parameter value: nil if there is none yet.
    mutating func judge(_ value: Double?, at uptime: Double) -> Verdict {
        lastUptime = uptime
        return judge(value.map { comparison.holds($0, number) } ?? false, since: uptime, at: uptime)
    }

    /// Takes a sample's text.
    mutating func judge(text: String, at uptime: Double) -> Verdict {
        lastUptime = uptime
        guard case .text(let wanted) = limit else { return .holdsNot }
        return judge((text == wanted) == (comparison == .equal), since: uptime, at: uptime)
    }

    /// Takes a time without a sample, at which a rate may have become 0.
    mutating func pass(to uptime: Double) -> Verdict? {
        guard isOfRate, firstUptime != nil, uptime >= lastUptime + Self.longestPause else { return nil }
        recent = []
        return judge(comparison.holds(0, number), since: lastUptime, at: uptime)
    }

    private mutating func judge(_ holds: Bool, since start: Double, at uptime: Double) -> Verdict {
        guard holds else {
            isTrue = false
            trueSince = nil
            return .holdsNot
        }
        let since = trueSince ?? start
        trueSince = since
        // The same sum as that of `nextPass`, which may be rounded.
        guard uptime >= since + lasting else { return .holdsNot }
        defer { isTrue = true }
        return isTrue ? .continues : .begins
    }
}
