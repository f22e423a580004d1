import Files
package import Messages

/// Collects the data that the next commit writes to the write-ahead log, in one run of memory.
///
/// Confined to one thread. Nothing is written here: `takeBlock` hands over the collected data, with its position in the log.
/// Consecutive records of one stream go into the same frame.
package final class LogAppender {
    /// Bytes after which a new segment begins.
    package static let segmentLength = 64 << 20

    /// The log's identifier, so that a session never takes another log's frames for its own.
    package let log: String
    /// The position of the block that is being collected.
    package private(set) var position: Int
    /// Records are formatted into this buffer, between `beginRecords` and `endRecords`.
    package var buffer = ByteBuffer(capacity: 64 << 10)

    /// The position of the segment for the next block.
    package private(set) var segment: Int
    /// By number: the name, and the last segment that includes it.
    private var names: [UInt32: (bytes: [UInt8], segment: Int)] = [:]
    private var lastNumber: UInt32 = 0
    /// The frame of records at the end of the buffer, if there is one, and its head, which is written once no more records
    /// follow.
    private var last: (number: UInt32, file: Int, head: RecordsHead?)?
    private var capacity = 64 << 10
    private let segmentLength: Int

    /// Continues a log after all of its data.
    /// - Parameter segmentLength: bytes after which a new segment begins. A segment is deleted as a whole.
    package init(log: String, position: Int, segmentLength: Int = LogAppender.segmentLength) {
        self.log = log
        self.segmentLength = segmentLength
        self.position = position
        segment = position
    }

    /// Bytes that wait for a commit, including headers.
    package var count: Int { buffer.count }

    /// Numbers a stream of a session, or the session itself.
    package func number(_ session: SessionIdentifier, _ stream: LogName? = nil) -> UInt32 {
        lastNumber += 1
        names[lastNumber] = (Array((stream.map { "\(session)/\($0)" } ?? "\(session)").utf8), -1)
        return lastNumber
    }

    /// Forgets a number that no frame will use again.
    package func forget(_ number: UInt32) { names[number] = nil }

    /// Begins a new segment with the next block, because the current segment can't be written any more.
    package func beginSegment() {
        precondition(buffer.count == 0, "A block belongs to one segment.")
        segment = position
    }

    // MARK: Frames

    /// Adds a session's record.
    package func append(_ record: SessionRecord, of number: UInt32) {
        var head = record
        head.logs = []
        append(.session, number, StoredJSON.line(head))
    }

    /// Adds a stream's record, without data that has frames of its own: a session may have thousands of gaps and files for each
    /// of thousands of streams.
    /// - Parameter log: with only the epochs that changed or are new.
    package func append(_ log: SessionRecord.Log, of number: UInt32) {
        var description = log
        description.files = []
        description.gaps = []
        description.intervals = nil
        append(.stream, number, StoredJSON.line(description))
    }

    package func append(_ gap: Gap, of number: UInt32) { append(.gap, number, StoredJSON.line(gap)) }

    package func append(_ beginning: FileBeginning, of number: UInt32) {
        append(.begin, number, StoredJSON.line(beginning))
    }

    package func append(_ end: FileEnd, of number: UInt32) { append(.seal, number, StoredJSON.line(end)) }

    /// Adds a batch as it arrived, because its records can't be written yet.
    package func append(held body: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?, of number: UInt32) {
        beginFrame(.held, number)
        withUnsafeBytes(of: Int64(body.count).littleEndian) { buffer.append($0) }
        buffer.append(body)
        if let packed { buffer.append(packed) }
        endFrame()
    }

    /// Adds an event as it arrived.
    package func append(
        eventAt topic: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, time: UnsafeRawBufferPointer,
        packed: UnsafeRawBufferPointer?
    ) {
        beginFrame(.event, 0)
        for length in [topic.count, body.count, time.count, 0] {
            withUnsafeBytes(of: UInt32(length).littleEndian) { buffer.append($0) }
        }
        for part in [topic, body, time] { buffer.append(part) }
        if let packed { buffer.append(packed) }
        endFrame()
    }

    /// Begins records of a stream, or continues those at the end of the buffer. Format them into `buffer`, then call
    /// `endRecords`, or `cancelRecords` with the result of this call.
    /// - Parameter epoch: the index of the records' epoch. A frame's head has the position in one epoch only, so another epoch
    ///   gets its own frame.
    package func beginRecords(of number: UInt32, file: Int, epoch: Int) -> (start: Int, isContinued: Bool) {
        if let last, last.number == number, last.file == file, last.head?.epoch == epoch { return (buffer.count, true) }
        beginFrame(.records, number)
        let room = RecordsHead.byteCount
        buffer.withUnsafeMutableTail(reserving: room) { _ in room }
        last = (number, file, nil)
        // A name that was written before the frame stays.
        return (frameStart, false)
    }

    /// Ends the records that were formatted since `beginRecords`.
    package func endRecords(_ head: RecordsHead) {
        guard let last else { preconditionFailure("endRecords follows beginRecords") }
        var head = head
        // The frame's offset is that of its first records.
        if let first = last.head { head.offset = first.offset }
        self.last?.head = head
    }

    /// Removes what was formatted since `beginRecords`.
    package func cancelRecords(_ begun: (start: Int, isContinued: Bool)) {
        buffer.truncate(to: begun.start)
        if !begun.isContinued { last = nil }
    }

    /// Writes the head of the records at the end of the buffer: none can be added to them any more.
    private func finishRecords() {
        defer { last = nil }
        guard let head = last?.head else { return }
        let contents = frameStart + LogBlock.frameHeaderLength
        buffer.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { head.write(to: base + contents) }
        }
        endFrame()
    }

    private var frameStart = 0

    private func append(_ kind: FrameKind, _ number: UInt32, _ contents: [UInt8]) {
        beginFrame(kind, number)
        buffer.append(contents)
        endFrame()
    }

    private func beginFrame(_ kind: FrameKind, _ number: UInt32) {
        finishRecords()
        if buffer.count == 0 {
            buffer.reserve(capacity)
            buffer.withUnsafeMutableTail(reserving: LogBlock.headerLength) { bytes in
                bytes.update(repeating: 0, count: LogBlock.headerLength)
                return LogBlock.headerLength
            }
            if position == segment {
                beginFrame(header: .log, 0)
                buffer.append(utf8: log)
                endFrame()
            }
        }
        if let name = names[number], name.segment != segment {
            names[number]?.segment = segment
            beginFrame(header: .name, number)
            buffer.append(name.bytes)
            endFrame()
        }
        beginFrame(header: kind, number)
    }

    private func beginFrame(header kind: FrameKind, _ number: UInt32) {
        frameStart = buffer.count
        buffer.withUnsafeMutableTail(reserving: LogBlock.frameHeaderLength) { bytes in
            bytes.update(repeating: 0, count: LogBlock.frameHeaderLength)
            bytes[0] = kind.rawValue
            UnsafeMutableRawPointer(bytes).storeBytes(of: number.littleEndian, toByteOffset: 4, as: UInt32.self)
            return LogBlock.frameHeaderLength
        }
    }

    private func endFrame() {
        let length = buffer.count - frameStart - LogBlock.frameHeaderLength
        let start = frameStart
        buffer.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: UInt64(length).littleEndian, toByteOffset: start + 8, as: UInt64.self)
        }
    }

    // MARK: Blocks

    /// The collected data; nil if there is none. Data that is added later follows it.
    package func takeBlock() -> LogBlock? {
        guard buffer.count > 0 else { return nil }
        finishRecords()
        let rest = -buffer.count & 7
        buffer.withUnsafeMutableTail(reserving: 8) { bytes in
            bytes.update(repeating: 0, count: rest)
            return rest
        }
        capacity = buffer.count
        var taken = ByteBuffer(capacity: 0)
        swap(&taken, &buffer)
        let block = LogBlock(taken, position: position, segment: segment)
        position = block.end
        if position - segment >= segmentLength { segment = position }
        return block
    }
}
