package import Messages

/// A format of stream files that is not built in: how a record is written, and how it is read again.
///
/// A file is lines of UTF-8: a header, and one line for each record, a sample or a marker. The recorder, recovery after a crash,
/// `recorder verify` and `info`, exports and archives know a record by its JSON object, as a file of the format `json` has it: a
/// formatter turns that into its line, and the line into that again. What a stream file promises holds if
/// - neither the header nor a line has a line feed or a NUL, and the header is not empty;
/// - `object(of:)` gives back the object that `append` got, byte for byte;
/// - a line that was cut short, by a power cut, say, is no line: `object(of:)` returns nil. End each with something that stands
///   nowhere else in it.
///
/// `append` is called on the recorder's thread for each record, so it should be fast and must not wait. A formatter is added with
/// `LogFormat.add(_:)` before a program starts; every program that reads the files needs it.
package protocol LogFormatter: Sendable {
    /// The word that requests use, and the file extension: 1 to 8 letters `a` to `z` or digits.
    var name: String { get }
    /// The format's number in log-manager's catalog, 16 to 255. It stays as it is.
    var number: Int { get }
    /// The media type of its files.
    var contentType: String { get }

    /// The first line of a file.
    /// - Parameter members: the names that members of records have, in their order; a record leaves some out.
    func header(of members: [String]) -> String
    /// Appends a record's line, without a line feed.
    /// - Parameter object: the record as JSON, in one line.
    func append(_ object: UnsafeRawBufferPointer, to buffer: inout ByteBuffer)
    /// The object of a record; nil if this is not its whole line.
    func object(of line: UnsafeRawBufferPointer) -> [UInt8]?
}

extension LogFormat {
    /// Adds a format. One of its name that was added before stays.
    /// - Precondition: name and number are as they must be, and no other format has them.
    package static func add(_ formatter: some LogFormatter) { AddedFormat.add(formatter) }
}
