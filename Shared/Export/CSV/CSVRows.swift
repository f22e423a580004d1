package import Messages
import Recording

/// A stream as a table of comma-separated values: `time`, then the stream's columns with their digits as recorded.
///
/// The time is a date in UTC, or seconds since the session's start. An absent value is empty, NaN is `NaN`. Absent samples have
/// no rows.
package struct CSVRows {
    private let columns: [ExportedStream.Column]
    private let names: [String]
    private let clock: ExportClock
    private let startDate: Int64
    private var date = DateText()

    /// - Parameter startDate: the session's start, in nanoseconds since 1970.
    package init(_ stream: ExportedStream, clock: ExportClock, startDate: Int64) {
        columns = stream.columns
        names = stream.names(beside: "time")
        self.clock = clock
        self.startDate = startDate
    }

    package func appendHeader(to buffer: inout ByteBuffer) {
        buffer.append(utf8: "time")
        for name in names {
            buffer.append(UInt8(ascii: ","))
            buffer.append(utf8: TableText.quoted(name, delimiter: UInt8(ascii: ",")))
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    @inline(__always)
    package mutating func append(_ row: SampleRow, to buffer: inout ByteBuffer) {
        if let time = row.time {
            switch clock {
            case .utc: date.append(startDate &+ time, to: &buffer)
            case .recorder: Nanoseconds.append(time, to: &buffer)
            case .own: buffer.append(UnsafeRawBufferPointer(rebasing: row.bytes[row.timestamp]))
            }
        }
        for index in columns.indices {
            buffer.append(UInt8(ascii: ","))
            TableCell.append(row, index, columns[index].kind, delimiter: UInt8(ascii: ","), to: &buffer)
        }
        buffer.append(UInt8(ascii: "\n"))
    }
}
