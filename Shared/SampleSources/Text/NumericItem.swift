import FoundationEssentials

/// A JSON object or array as far as it is numbers: one point of a file, one line of NDJSON.
///
/// What is not a number (a label, say) is kept out, not refused: whether something is missing shows when the fields are asked for.
struct NumericItem: Decodable {
    private enum Content {
        case object([String: Double])
        case array([Double])
        case other
    }

    private let content: Content

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: AnyKey.self) {
            var numbers: [String: Double] = [:]
            for key in object.allKeys {
                if let number = try? object.decode(Double.self, forKey: key) {
                    numbers[key.stringValue] = number
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
        } else {
            content = .other
        }
    }

    /// The fields of a stream that begins with this item. An object's names come sorted, since their order in the text means nothing.
    func fields() throws(PublisherError) -> [String] {
        switch content {
        case .object(let numbers):
            let names = numbers.keys.sorted()
            let time = FieldOrder.timeIndex(in: names).map { names[$0] }
            let fields = names.filter { $0 != time && !FieldOrder.isReserved($0, besideTime: time) }
            guard !fields.isEmpty else {
                throw PublisherError(.invalidInput, "no numbers beside the time; give x, y, z or value")
            }
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

    /// The time as it stands there, if the item has one, and the values of `fields`.
    func values(of fields: [String]) throws(PublisherError) -> (time: Double?, values: [Double]) {
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
            return (FieldOrder.timeIndex(in: names).flatMap { numbers[names[$0]] }, values)
        case .array(let numbers):
            guard numbers.count == fields.count + 1 else {
                throw PublisherError(
                    .invalidInput, "\(numbers.count) numbers, but the first item has \(fields.count + 1)")
            }
            return (numbers[0], Array(numbers[1...]))
        case .other:
            throw notAnItem
        }
    }

    /// The item as a point; it must have a time.
    func point(fields: [String]) throws(PublisherError) -> Point {
        let (time, values) = try values(of: fields)
        guard let time else { throw PublisherError(.invalidInput, "no time; give \"t\" or \"timestamp\" in seconds") }
        return Point(timestamp: time, values: values)
    }

    private var notAnItem: PublisherError {
        PublisherError(.invalidInput, "neither an object nor an array of numbers")
    }
}
