package import FoundationEssentials
import TextInput

/// Plays an array of points: in the array's order, never sorted, none left out.
///
/// A point whose time is before its predecessor's is due at once. All points are kept in memory; for longer series, use a CSV
/// file and `ReplaySource`.
package struct PointsSource: SampleSource {
    package let fields: [String]
    package let unit: String?
    package let rate: Double?
    package let description: String

    private let times: [Int64]
    private let values: [Double]
    private var index = 0

    /// - Parameters:
    ///   - rate: the nominal rate in Hz in the stream's description; it does not move any point.
    /// - Throws: `invalidInput`, naming the index of the first point with a wrong number of values or an impossible time.
    package init(
        fields: [String], points: [Point], unit: String? = nil, rate: Double? = nil, description: String = "points"
    ) throws(PublisherError) {
        var times: [Int64] = []
        var values: [Double] = []
        for (index, point) in points.enumerated() {
            guard point.values.count == fields.count else {
                throw PublisherError(
                    .invalidInput, "item \(index) has \(point.values.count) values, but the fields are \(fields)")
            }
            guard let time = Nanoseconds.from(time: point.timestamp) else {
                throw PublisherError(.invalidInput, "item \(index): \(point.timestamp) is not a time in seconds")
            }
            times.append(time)
            values += point.values
        }
        self.init(fields: fields, times: times, values: values, unit: unit, rate: rate, description: description)
    }

    private init(
        fields: [String], times: [Int64], values: [Double], unit: String?, rate: Double?, description: String
    ) {
        self.fields = fields
        self.unit = unit
        self.rate = rate
        self.description = description
        self.times = times
        self.values = values
    }

    /// Reads points from JSON: an array of objects or an array of arrays.
    ///
    /// An object has its time under one of `FieldOrder.timeNames`, and any other numbers. Those of the first object are the
    /// fields (see `FieldOrder`), and every later object must have them. Numbers may be nested once: `{"t": 0, "gravity": {"x":
    /// 0, …}}` has the field "gravity.x". An array is the time followed by 1 value ("value"), 2 or 3 (x, y, z), or 9 (device
    /// motion).
    ///
    /// - Throws: `invalidInput`, naming the index of the first bad item.
    package init(json: Data, unit: String? = nil, rate: Double? = nil, description: String = "points")
        throws(PublisherError)
    {
        let items: [NumericItem]
        do {
            items = try JSONDecoder().decode([NumericItem].self, from: json)
        } catch DecodingError.dataCorrupted(let context) {
            throw PublisherError(.invalidInput, "this is not JSON: \(context.underlyingText)")
        } catch {
            throw PublisherError(.invalidInput, "a JSON array of points was expected: \(error)")
        }
        var fields: [String] = []
        var times: [Int64] = []
        var values: [Double] = []
        times.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            do throws(PublisherError) {
                if index == 0 { fields = try item.fields() }
                let point = try item.point(fields: fields)
                times.append(point.time)
                values += point.values
            } catch {
                throw error.at("item \(index)")
            }
        }
        self.init(fields: fields, times: times, values: values, unit: unit, rate: rate, description: description)
    }

    /// Reads a file of points (JSON, plain or compressed with gzip) into memory.
    ///
    /// - Throws: `unreadable`, or the errors of `init(json:)` with the file's path in front.
    package init(path: String, unit: String? = nil, rate: Double? = nil) throws(PublisherError) {
        let json = try GzipFile<PublisherError>(path: path).readAll()
        do throws(PublisherError) {
            try self.init(
                json: json, unit: unit, rate: rate, description: "points:\(path.split(separator: "/").last ?? "")")
        } catch {
            throw error.at(path)
        }
    }

    package mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64? {
        guard index < times.count else { return nil }
        row.append(contentsOf: values[index * fields.count..<(index + 1) * fields.count])
        defer { index += 1 }
        return times[index]
    }

    package mutating func rewind() {
        index = 0
    }
}

extension DecodingError.Context {
    /// The underlying error's text if there is one, which has the most detail.
    var underlyingText: String {
        underlyingError.map { String(describing: $0) } ?? debugDescription
    }
}
