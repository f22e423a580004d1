/// How the fields of some input make a row of device motion: by name, with zero for what the input does not have, and with
/// those of `DeviceMotion.optionalFields` that it has.
///
/// Plain x, y, z are taken as user acceleration, as in the ancestor's mock motion.
package struct DeviceMotionLayout: Hashable, Sendable {
    /// The fields of the rows it makes.
    package let fields: [String]
    private let columns: [Int?]

    /// - Throws: `invalidInput` if none of the fields is one of device motion.
    package init(fields: [String]) throws(PublisherError) {
        let optional = DeviceMotion.optionalFields.filter(fields.contains)
        self.fields = DeviceMotion.fields + optional
        let components = DeviceMotion.fields.enumerated().map { index, name in
            let axis = ["x", "y", "z"][index % 3]
            return fields.firstIndex(of: name) ?? (index < 3 ? fields.firstIndex(of: axis) : nil)
        }
        columns = components + optional.map { fields.firstIndex(of: $0) }
        guard columns.contains(where: { $0 != nil }) else {
            throw PublisherError(
                .invalidInput,
                "no field of device motion in \(fields); name them x, y, z or as in \(DeviceMotion.fields)")
        }
    }

    /// Replaces the input's values, which are the row from `start` on, by those of device motion.
    package func apply(to row: inout [Double], from start: Int) {
        let values = columns.map { column in column.map { row[start + $0] } ?? 0 }
        row.replaceSubrange(start..., with: values)
    }
}
