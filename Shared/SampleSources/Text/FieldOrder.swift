/// Selects an input's time column and fields, and the order in which the fields are published.
///
/// The same for CSV, NDJSON and JSON points, so that a stream looks the same from each of them.
package enum FieldOrder {
    /// The names of a time column, in order of preference: in seconds, or in nanoseconds since 1970
    /// (`Nanoseconds.from(time:)`). Those in lower case come first: beside `time`, `T` may be a temperature.
    package static let timeNames = ["t", elapsed, "timestamp", "time"]

    /// Sensor Logger's name for the seconds since a recording's start. Its exports also have `time`, in nanoseconds.
    private static let elapsed = "seconds_elapsed"

    /// The field that every stream has already: the publisher's own clock. An input's column of this name is left out.
    package static let reserved = "uptime"

    /// The index of the time among the names of an input's columns.
    package static func timeIndex(in names: [String]) -> Int? {
        for spelling in [names, names.map { $0.lowercased() }] {
            for timeName in timeNames {
                if let index = spelling.firstIndex(of: timeName) { return index }
            }
        }
        return nil
    }

    /// Whether a column of this name is not a field: a publisher's clock, or a second time beside `seconds_elapsed`.
    package static func isReserved(_ name: String, besideTime time: String?) -> Bool {
        let name = name.lowercased()
        return name == reserved || time?.lowercased() == elapsed && timeNames.contains(name)
    }

    /// Puts x, y, z first; the other names keep their order.
    package static func sorted(_ names: [String]) -> [String] {
        let axes = ["x", "y", "z"].filter(names.contains)
        return axes + names.filter { !axes.contains($0) }
    }
}
