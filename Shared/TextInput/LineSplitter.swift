import Glibc

/// Splits chunks of bytes into lines, for files and live input.
///
/// Holds at most one chunk and one unfinished line. A line longer than `maximumLength` is an error, and skipped.
package struct LineSplitter {
    /// The maximum length of a line, in bytes.
    package static let maximumLength = 1 << 20

    /// The number of the last line from `next`, counted from 1.
    package private(set) var lineNumber = 0

    private var bytes: [UInt8] = []
    /// Where the next line begins in `bytes`.
    private var start = 0
    /// `bytes` was searched for a line's end up to here.
    private var searched = 0
    private var isFinished = false
    private var isSkipping = false

    package init() {}

    /// Appends a chunk. Take all complete lines with `next` before the next chunk.
    package mutating func append(_ chunk: Span<UInt8>) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        chunk.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Marks the end of the input: the rest without a line's end is the last line.
    package mutating func finish() {
        isFinished = true
    }

    /// Passes the next line, without its end (LF or CR LF), to `body`; returns false without a call if none is complete.
    ///
    /// - Throws: `invalidInput` if a line is too long, or the error of `body`. The line is consumed even then.
    package mutating func next<Failure: TextInputFailure>(
        _ body: (Span<UInt8>) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        while true {
            let end = endOfLine()
            guard let end else {
                guard bytes.count - start > Self.maximumLength else { return false }
                start = bytes.count
                if isSkipping { return false }
                isSkipping = true
                lineNumber += 1
                throw Failure(Self.tooLong)
            }
            var line = start..<end
            start = min(end + 1, bytes.count)
            searched = start
            if isSkipping {
                isSkipping = false
                continue
            }
            lineNumber += 1
            guard line.count <= Self.maximumLength else {
                throw Failure(Self.tooLong)
            }
            if line.last.map({ bytes[$0] }) == UInt8(ascii: "\r") { line.removeLast() }
            try body(bytes.span.extracting(line))
            return true
        }
    }

    private static var tooLong: TextInputError {
        TextInputError(.invalidInput, "the line is longer than \(maximumLength) bytes")
    }

    private mutating func endOfLine() -> Int? {
        let found = bytes.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress, searched < bytes.count else { return nil }
            let end = memchr(base + searched, Int32(UInt8(ascii: "\n")), bytes.count - searched)
            return end.map { UnsafeRawPointer($0) - base }
        }
        searched = found ?? bytes.count
        if let found { return found }
        return isFinished && start < bytes.count ? bytes.count : nil
    }
}
