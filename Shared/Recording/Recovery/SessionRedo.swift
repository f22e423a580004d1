import Files
import Messages
import SystemPackage

/// Updates one interrupted session from the write-ahead log: its files and its record.
///
/// Takes every frame of the log in order. A frame before the position that `session.json` covers changes only files; a frame
/// before the position up to which the files are durable changes nothing. So recovery may itself be interrupted anywhere, and
/// repeated.
package final class SessionRedo {
    package struct HeldBatch: Sendable {
        package let log: LogName
        package let body: [UInt8]
        package let packed: [UInt8]?
    }

    private final class Stream {
        var log: SessionRecord.Log
        let file: StreamFile
        /// The index of the latest sample's epoch.
        var current: Int
        /// Why the log does not continue the stream's files: no later frame applies to them.
        var discontinuity: RecordingError?

        init(_ log: SessionRecord.Log, _ file: StreamFile) {
            self.log = log
            self.file = file
            current = log.epochs.lastIndex { $0.epoch == log.durable?.epoch } ?? max(0, log.epochs.count - 1)
        }
    }

    /// Most bytes of waiting batches; those after them are replayed.
    private static let maximumHeldBytes = 64 << 20
    /// Most bytes that wait to be written into one file. There may be thousands of files.
    private static let maximumPendingBytes = 32 << 10

    let position: LogPosition
    private let directory: SessionDirectory
    private let finished: [LogName: [FinishedName]]
    private let calls: FileCalls
    private var record: SessionRecord
    private var streams: [LogName: Stream] = [:]
    private var order: [Stream] = []
    private var held: [HeldBatch] = []
    private var heldBytes = 0
    /// Hashes of the held batches. If two batches have the same hash, nothing is lost: the second is replayed.
    private var heldHashes: Set<Int> = []
    private var failure: RecordingError?

    /// - Parameter record: the contents of `session.json`, which must have a position in the log.
    init(
        _ record: SessionRecord, _ position: LogPosition, in directory: SessionDirectory, calls: FileCalls
    ) throws(RecordingError) {
        self.record = record
        self.position = position
        self.directory = directory
        self.calls = calls
        finished = FinishedName.byLog(try directory.directory.names())
        for log in record.logs { try add(log) }
    }

    private func add(_ log: SessionRecord.Log) throws(RecordingError) {
        let file = try StreamFile(
            resuming: log, of: record, in: directory.directory, finished: finished[log.name] ?? [], calls: calls)
        let stream = Stream(log, file)
        streams[log.name] = stream
        order.append(stream)
    }

    /// - Parameter log: the log that the frame is about; nil for the session itself.
    func apply(_ frame: LogFrame, of log: LogName?) {
        guard frame.position >= position.written, failure == nil else { return }
        guard let log else { return apply(frame) }
        attempt(streams[log]) { () throws(RecordingError) in try apply(frame, to: log) }
    }

    /// Works on a stream, unless the log does not continue the stream's files. Other streams still get their part of the log.
    private func attempt(_ stream: Stream?, _ body: () throws(RecordingError) -> Void) {
        guard failure == nil, stream?.discontinuity == nil, let error = RecordingError.thrown(by: body) else { return }
        if let stream, error.code == .unreadable { stream.discontinuity = error } else { failure = error }
    }

    private func apply(_ frame: LogFrame) {
        guard frame.position >= position.recorded, frame.kind == .session,
            var head = frame.decode(SessionRecord.self)
        else { return }
        head.logs = record.logs
        head.logPosition = record.logPosition
        // They may be in the document already, as gaps may be.
        let known = record.annotations ?? []
        let new = head.annotations?.filter { $0.number > known.count } ?? []
        head.annotations = known.isEmpty && new.isEmpty ? nil : known + new
        if head.clocks.isEmpty {
            head.clocks = record.clocks
        } else {
            let compared = Set(record.clocks)
            head.clocks = record.clocks + head.clocks.filter { !compared.contains($0) }
        }
        record = head
    }

    private func apply(_ frame: LogFrame, to name: LogName) throws(RecordingError) {
        let isNew = frame.position >= position.recorded
        if frame.kind == .stream {
            guard isNew, let description = frame.decode(SessionRecord.Log.self) else { return }
            return try take(description)
        }
        guard let stream = streams[name] else { return }
        if let sealed = try stream.file.apply(frame) {
            try directory.directory.sync(calls: calls)
            stream.log.files.append(try sealed.certify(in: directory.directory))
            stream.log.file = nil
        }
        if stream.file.pendingBytes > Self.maximumPendingBytes { try stream.file.write() }
        switch frame.kind {
        case .begin:
            guard let beginning = frame.decode(FileBeginning.self) else { return }
            stream.log.file = name.fileName(beginning.format)
        case .records:
            guard let head = RecordsHead(frame.contents) else { return }
            if isNew {
                take(head, of: stream)
            } else if head.epoch < stream.log.epochs.count {
                // The current epoch is otherwise known for the durable place only.
                stream.current = head.epoch
            }
        case .gap:
            guard isNew, let gap = frame.decode(Gap.self) else { return }
            // The gap may be in the document already, which is written a little later than its position in the log
            // says.
            if !stream.log.gaps.contains(where: { $0.extent == gap.extent }) { stream.log.gaps.append(gap) }
            if let epoch = stream.log.epochs.lastIndex(where: { $0.epoch == gap.epoch }) {
                let end = gap.from.addingClamped(gap.count)
                stream.log.epochs[epoch].next = max(stream.log.epochs[epoch].next, end)
            }
        case .held: hold(frame, name)
        case .log, .name, .session, .stream, .seal, .event: break
        }
    }

    private func take(_ description: SessionRecord.Log) throws(RecordingError) {
        guard let stream = streams[description.name] else {
            // The stream's first files may have their final names already.
            return try add(description)
        }
        var log = description
        log.epochs = stream.log.epochs
        for epoch in description.epochs {
            if let known = log.epochs.lastIndex(where: { $0.epoch == epoch.epoch }) {
                log.epochs[known] = epoch
            } else {
                log.epochs.append(epoch)
            }
        }
        log.gaps = stream.log.gaps
        log.intervals = stream.log.intervals
        log.files = stream.log.files
        log.file = stream.log.file
        log.durable = stream.log.durable
        stream.log = log
    }

    private func take(_ head: RecordsHead, of stream: Stream) {
        stream.log.counts = head.counts
        stream.log.firstUptime = head.firstUptime
        stream.log.lastUptime = head.lastUptime
        stream.log.isMarkedStopped = head.isMarkedStopped ? true : nil
        guard head.epoch < stream.log.epochs.count else { return }
        stream.log.epochs[head.epoch].next = head.next
        stream.current = head.epoch
    }

    private func hold(_ frame: LogFrame, _ log: LogName) {
        let bytes = frame.contents
        guard bytes.count >= 8, heldBytes + bytes.count <= Self.maximumHeldBytes else { return }
        let count = Int(Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)))
        guard count >= 0, count <= bytes.count - 8 else { return }
        // A checkpoint or a restart writes waiting batches into the log again.
        var hasher = Hasher()
        hasher.combine(log)
        hasher.combine(bytes: bytes)
        guard heldHashes.insert(hasher.finalize()).inserted else { return }
        let packed = bytes[(8 + count)...]
        heldBytes += bytes.count
        held.append(
            HeldBatch(log: log, body: Array(bytes[8..<(8 + count)]), packed: packed.isEmpty ? nil : Array(packed)))
    }

    /// Whether files have more than the log's frames so far, or are of streams that neither the log nor `session.json` mentions.
    func isAheadOfLog() -> Bool {
        var isAhead = false
        attempt(nil) { () throws(RecordingError) in
            var known = record
            known.logs = order.map(\.log)
            isAhead = try !known.unlistedLogs(in: directory.directory).logs.isEmpty
        }
        for stream in order {
            attempt(stream) { () throws(RecordingError) in
                if try stream.file.isAheadOfLog() { isAhead = true }
            }
        }
        return isAhead && discontinuity == nil
    }

    /// Why the log does not continue the files of a stream.
    var discontinuity: RecordingError? { order.lazy.compactMap(\.discontinuity).first }

    /// Writes the data that the log has up to where it does not continue the file.
    private func writeRest(of stream: Stream) throws(RecordingError) {
        do throws(RecordingError) {
            try stream.file.write()
        } catch {
            guard error.code == .unreadable else { throw error }
            stream.discontinuity = stream.discontinuity ?? error
        }
    }

    /// The session after the last frame of the log, and its files, ready to be continued.
    /// - Parameter isWhole: whether the log is complete. Otherwise, or if the log does not continue them, files may have more,
    ///   and keep it.
    func finish(
        cutting isWhole: Bool
    ) throws(RecordingError) -> (session: RecoveredSession, files: [LogName: StreamFile]) {
        if let failure { throw failure }
        for stream in order { try writeRest(of: stream) }
        let isWhole = isWhole && discontinuity == nil
        var session = RecoveredSession(record: record, held: held, isFromLog: true)
        session.record.logs = []
        for stream in order {
            if isWhole { try stream.file.finishResuming() }
            let extent = stream.file.extent
            if extent == nil, stream.log.isMarkedStopped == true { stream.log.file = nil }
            session.record.logs.append(stream.log)
            var positions = stream.log.epochs.map { Marker.Position(epoch: $0.epoch, next: $0.next) }
            if positions.indices.contains(stream.current) { positions.append(positions.remove(at: stream.current)) }
            session.logs[stream.log.name] = RecoveredLog(file: extent, positions: positions)
        }
        return (session, streams.mapValues(\.file))
    }
}
