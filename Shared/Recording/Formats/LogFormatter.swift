package import Messages

/// A stream file format that is not built in: how a record is written and read again.
///
/// A file consists of lines of UTF-8: a header, and one line for each record, which is a sample or a marker. The recorder,
/// recovery after a crash, `recorder verify` and `info`, exports and archives handle a record as a JSON object, as in a file of
/// the format `json`. A formatter turns that object into a line, and the line back into the object. The guarantees for stream
/// files hold if
/// - neither the header nor a line has a line feed or a NUL, and the header is not empty;
/// - `object(of:)` returns the object that `append` got, byte for byte;
/// - `object(of:)` returns nil for an incomplete line, which a power cut may leave. End each line with something that occurs
///   nowhere else in it.
///
/// `append` is called on the recorder's thread for each record, so it should be fast and must not wait. Add a formatter with
/// `LogFormat.add(_:)` before a program starts; every program that reads the files needs it.
package protocol LogFormatter: Sendable {
    /// The word that requests use, and the file extension: 1 to 8 letters `a` to `z` or digits.
    var name: String { get }
    /// The format's number in log-manager's catalog, 16 to 255. Never change it.
    var number: Int { get }
    /// The media type of its files.
    var contentType: String { get }

    /// The first line of a file.
    /// - Parameter members: the names of the members of records, in order; a record may omit some.
    func header(of members: [String]) -> String
    /// Appends a record's line, without a line feed.
    /// - Parameter object: the record as JSON, in one line.
    func append(_ object: UnsafeRawBufferPointer, to buffer: inout ByteBuffer)
    /// The object of a record; nil if `line` is not its complete line.
    func object(of line: UnsafeRawBufferPointer) -> [UInt8]?
}

extension LogFormat {
    /// Adds a format. If one was already added under this name, the earlier one stays.
    /// - Precondition: name and number are valid, and no other format has them.
    package static func add(_ formatter: some LogFormatter) { AddedFormat.add(formatter) }
}
