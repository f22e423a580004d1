import FoundationEssentials

/// The numbers in a JSON object or array: one point of a file, one line of NDJSON.
///
/// Other values, such as labels, are ignored. A missing number is noticed when the fields' values are read.
struct NumericItem: Decodable {
    private enum Content {
        case object([String: Double])
        case array([Double])
        case other
    }

    private let content: Content
    /// By name, the times that a `Double` does not hold exactly.
    private let whole: [String: Int64]
    /// The name of an array's time.
    private static let first = ""

    init(from decoder: any Decoder) throws {
        var whole: [String: Int64] = [:]
        if let object = try? decoder.container(keyedBy: AnyKey.self) {
            var numbers: [String: Double] = [:]
            for key in object.allKeys {
                if let number = try? object.decode(Double.self, forKey: key) {
                    numbers[key.stringValue] = number
                    if Nanoseconds.isSince1970(number) {
                        whole[key.stringValue] = try? object.decode(Int64.self, forKey: key)
                    }
                } else if let inner = try? object.nestedContainer(keyedBy: AnyKey.self, forKey: key) {
                    for innerKey in inner.allKeys {
                        numbers["\(key.stringValue).\(innerKey.stringValue)"] = try? inner.decode(
                            Double.self, forKey: innerKey)
                    }
                }
            }
            content = .object(numbers)
        } else if let array = try? decoder.singleValueContainer().decode([Double].self) {
            content = .array(array)
            if let time = array.first, Nanoseconds.isSince1970(time) {
                var items = try decoder.unkeyedContainer()
                whole[Self.first] = try? items.decode(Int64.self)
            }
        } else {
            content = .other
        }
        self.whole = whole
    }

    /// The fields of a stream that begins with this item. An object's names are sorted: their order in the text has no meaning.
    func fields() throws(PublisherError) -> [String] {
        switch content {
        case .object(let numbers):
            let names = numbers.keys.sorted()
            let time = FieldOrder.timeIndex(in: names).map { names[$0] }
            let fields = names.filter { $0 != time && !FieldOrder.isReserved($0, besideTime: time) }
            guard !fields.isEmpty else {
                throw PublisherError(.invalidInput, "no numbers besides the time; give x, y, z or value")
            }
            try FieldChoice.check(fields)
            return FieldOrder.sorted(fields)
        case .array(let numbers):
            switch numbers.count {
            case 2: return ["value"]
            case 3: return ["x", "y"]
            case 4: return ["x", "y", "z"]
            case DeviceMotion.fields.count + 1: return DeviceMotion.fields
            default:
                throw PublisherError(
                    .invalidInput,
                    "\(numbers.count) numbers; an array is the time and 1, 2, 3 or 9 values (or use objects with names)"
                )
            }
        case .other:
            throw notAnItem
        }
    }

    /// A time as written: in seconds, or in nanoseconds since 1970.
    struct Time {
        let number: Double
        let whole: Int64?

        /// - Throws: `invalidInput` if it is beyond `Nanoseconds.limit`.
        func nanoseconds() throws(PublisherError) -> Int64 {
            let time = whole.map { $0 <= Nanoseconds.limit ? $0 : nil } ?? Nanoseconds.from(time: number)
            guard let time else { throw PublisherError(.invalidInput, "\(number) is not a time in seconds") }
            return time
        }
    }

    /// The time, if the item has one, and the values of `fields`.
    func values(of fields: [String]) throws(PublisherError) -> (time: Time?, values: [Double]) {
        switch content {
        case .object(let numbers):
            var values: [Double] = []
            values.reserveCapacity(fields.count)
            for field in fields {
                guard let number = numbers[field] else {
                    throw PublisherError(.invalidInput, "no number for \"\(field)\"")
                }
                values.append(number)
            }
            let names = Array(numbers.keys)
            let time = FieldOrder.timeIndex(in: names).flatMap { index in
                numbers[names[index]].map { Time(number: $0, whole: whole[names[index]]) }
            }
            return (time, values)
        case .array(let numbers):
            guard numbers.count == fields.count + 1 else {
                throw PublisherError(
                    .invalidInput, "\(numbers.count) numbers, but the first item has \(fields.count + 1)")
            }
            return (Time(number: numbers[0], whole: whole[Self.first]), Array(numbers[1...]))
        case .other:
            throw notAnItem
        }
    }

    /// The item as a point, with its time in nanoseconds; the item must have a time.
    func point(fields: [String]) throws(PublisherError) -> (time: Int64, values: [Double]) {
        let (time, values) = try values(of: fields)
        guard let time else { throw PublisherError(.invalidInput, "no time; give \"t\" or \"timestamp\" in seconds") }
        return (try time.nanoseconds(), values)
    }

    private var notAnItem: PublisherError {
        PublisherError(.invalidInput, "neither an object nor an array of numbers")
    }
}
