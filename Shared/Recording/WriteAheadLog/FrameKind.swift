/// What a frame of the write-ahead log says. The raw values stand in files: never reuse one.
enum FrameKind: UInt8 {
    /// Which log the segment belongs to: the identifier's text. The first frame of each segment.
    case log = 1
    /// What a number stands for: a session's name, or with a slash behind it the name of one of its logs. Once per segment,
    /// before the first frame that has the number.
    case name = 2
    /// What the session knows of itself: `SessionRecord` without its logs, as JSON. The number is the session's own.
    case session = 3
    /// What the session knows of a stream: `SessionRecord.Log` without gaps, files and intervals, as JSON. Its epochs are those
    /// that changed since the frame before it about the stream; new ones are in the order in which they were met.
    case stream = 4
    /// A file begins: `FileBeginning` as JSON.
    case begin = 5
    /// Records as they stand in the file, behind a `RecordsHead`.
    case records = 6
    /// Samples that are missing for good: `Gap` as JSON.
    case gap = 7
    /// A file is complete: `FileEnd` as JSON.
    case seal = 8
    /// A batch that waits for samples before it, as it arrived: the length of its body, the body, the matrix if there is one.
    case held = 9
    /// An event as it arrived, in the spool of relay: the lengths of its topic, body and time as 32-bit numbers, 4 bytes that are 0,
    /// then these and the matrix if there is one.
    case event = 10
}

package struct FileBeginning: Codable, Hashable, Sendable {
    /// Which of the log's files, counted from 0.
    package var index: Int
    package var format: LogFormat
    package var root: JSONRoot
    /// When it was begun: ISO 8601 with zone; a root dictionary has it.
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
    /// Its length, terminator included.
    package var bytes: Int
    package var samples: Int

    package init(index: Int, name: String, bytes: Int, samples: Int) {
        self.index = index
        self.name = name
        self.bytes = bytes
        self.samples = samples
    }
}
