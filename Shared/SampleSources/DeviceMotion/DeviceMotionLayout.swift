/// Maps an input's fields to a row of device motion, by name: missing components are zero, and those of
/// `DeviceMotion.optionalFields` that the input has are added.
///
/// Plain x, y, z are taken as user acceleration, as in the mock motion of this project's predecessor.
package struct DeviceMotionLayout: Hashable, Sendable {
    /// The fields of the mapped rows.
    package let fields: [String]
    private let columns: [Int?]

    /// - Throws: `invalidInput` if no field is one of device motion.
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

    /// Replaces the input's values, from `start` to the end of the row, by those of device motion.
    package func apply(to row: inout [Double], from start: Int) {
        let values = columns.map { column in column.map { row[start + $0] } ?? 0 }
        row.replaceSubrange(start..., with: values)
    }
}
