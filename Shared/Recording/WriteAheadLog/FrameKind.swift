/// The kinds of frames in the write-ahead log. The raw values are stored in files: never reuse one.
enum FrameKind: UInt8 {
    /// The log to which the segment belongs: the identifier's text. The first frame of each segment.
    case log = 1
    /// The meaning of a number: a session's name, or, after a slash, also the name of one of its logs. Once per segment, before
    /// the first frame that has the number.
    case name = 2
    /// A session's record: `SessionRecord` without its logs, as JSON. The number is the session's own.
    case session = 3
    /// A stream's record: `SessionRecord.Log` without gaps, files and intervals, as JSON. It has only the epochs that changed
    /// since the stream's previous frame of this kind; new epochs are in the order in which they were met.
    case stream = 4
    /// A file begins: `FileBeginning` as JSON.
    case begin = 5
    /// Records as in the file, after a `RecordsHead`.
    case records = 6
    /// Samples that are missing for good: `Gap` as JSON.
    case gap = 7
    /// A file is complete: `FileEnd` as JSON.
    case seal = 8
    /// A batch that waits for samples before it, as it arrived: the length of its body, the body, the matrix if there is one.
    case held = 9
    /// An event as it arrived, in a relay's spool: the lengths of its topic, body and time as 32-bit numbers, 4 bytes that are 0,
    /// then these parts, and the matrix if there is one.
    case event = 10
}

package struct FileBeginning: Codable, Hashable, Sendable {
    /// The index of the log's file, from 0.
    package var index: Int
    package var format: LogFormat
    package var root: JSONRoot
    /// When the file was begun: ISO 8601 with zone, for a dictionary root.
    package var startDate: String
    package var header: String

    package init(index: Int, format: LogFormat, root: JSONRoot, startDate: String, header: String) {
        self.index = index
        self.format = format
        self.root = root
        self.startDate = startDate
        self.header = header
    }
}

package struct FileEnd: Codable, Hashable, Sendable {
    package var index: Int
    package var name: String
    /// The length of the file, terminator included.
    package var bytes: Int
    package var samples: Int

    package init(index: Int, name: String, bytes: Int, samples: Int) {
        self.index = index
        self.name = name
        self.bytes = bytes
        self.samples = samples
    }
}
