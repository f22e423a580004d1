/// The limit of the names of a stream's fields.
package enum FieldName {
    /// The most bytes of a name: in JSON, each record has the names of all fields.
    package static let maximumBytes = 256

    package static func isTooLong(_ name: String) -> Bool { name.utf8.count > maximumBytes }
}
