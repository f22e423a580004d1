package import Files
package import Messages
package import SystemPackage

extension SessionDirectory {
    /// Copies a session, recovers the copy, and finishes it with the data it has. The original is only read.
    ///
    /// A session that had not ended becomes `failed`, unless all of its logs have the stop marker.
    /// - Throws: `notFound` or `unreadable` if there is nothing to recover; `alreadyExists`; errors of reading and writing. The
    ///   copy is then removed.
    package static func recover(
        copyOf path: FilePath, to copy: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let original = try SessionDirectory(at: path)
        let target = Directory(copy)
        try target.createExclusively()
        do {
            for name in try original.directory.names() where !Directory.isHidden(name) {
                let file = path.appending(name)
                guard (try? file.stat(followTargetSymlink: false).type) == .regular else { continue }
                try original.copy(name, to: target)
            }
            let directory = try SessionDirectory(at: copy)
            if directory.hasChecksums {
                try target.sync()
                return directory
            }
            // If the session lies where it was recorded, the recorder's write-ahead log may have more than its files.
            let recorded = try original.record()
            let record = try directory.finishFiles(
                from: try original.log(of: recorded), failures: [], lastDate: original.lastDate(of: recorded))
            try directory.write(SessionReport(record))
            try directory.write(record)
            try directory.writeChecksums(known: record.logs.flatMap(\.files))
            return directory
        } catch {
            // This call made the copy, and half a copy would be taken for a recording.
            try? Directory.removeTree(copy)
            throw error
        }
    }

    /// The write-ahead log beside the session that has its latest data; nil if there is none. That is the log of its shard's
    /// recorder, or of a recorder without a shard that continued the session.
    package func log(of record: SessionRecord) throws(RecordingError) -> Directory? {
        guard let identifier = record.logPosition?.log else { return nil }
        let recordings = directory.path.removingLastComponent()
        for shard in [record.shard, nil] {
            let log = WriteAheadLog.directory(inRecordings: recordings, shard: shard)
            if try LogReader.identifier(in: log) == identifier { return log }
        }
        return nil
    }

    private func copy(_ name: String, to target: Directory) throws(RecordingError) {
        let file = try OpenFile(creating: target.path.appending(name), [])
        let source = try OpenFile(directory.path.appending(name), .readOnly, action: "read")
        let pieceSize = 1 << 20
        var offset = 0
        var bytes: [UInt8] = []
        repeat {
            bytes = try source.bytes(in: offset..<(offset + pieceSize))
            try file.write(bytes, at: Int64(offset))
            offset += bytes.count
        } while bytes.count == pieceSize
        // Somebody who sees the copy may remove the original.
        try file.syncAll()
    }

    /// Recovers a session and finishes its files, with the data in them and in the write-ahead log.
    /// - Parameter lastDate: when the session was last written to, if its files are newer than that.
    package func finishFiles(
        from log: Directory?, failures: [String], lastDate: WallTime? = nil, calls: FileCalls = .system
    ) throws(RecordingError) -> SessionRecord {
        let recovery = try SessionRecovery(of: [self], log: log, calls: calls)
        guard let recovered = try recovery.outcomes[session]?.get() else { return try self.record() }
        var record = recovered.record
        record.note(failures: failures)
        for index in record.logs.indices {
            let log = record.logs[index]
            record.logs[index].file = nil
            record.logs[index].durable = nil
            // If an epoch was met just before the interruption, only records may be left of it.
            for position in recovered.logs[log.name]?.positions ?? []
            where !log.epochs.contains(where: { $0.epoch == position.epoch }) {
                guard let last = log.epochs.last else { break }
                record.logs[index].epochs.append(
                    SessionRecord.Epoch(
                        position.epoch, clock: last.clock, next: position.next, heard: last.heard, after: last))
            }
            guard let file = recovery.files[session]?[log.name], let open = file.extent else { continue }
            let last = log.files.last.flatMap { FinishedName($0.name, of: log.name) }
            let name = FinishedName(
                log: log.name, finishedAt: log.fileDate ?? record.startDate, after: last, format: record.format(of: log)
            ).free(in: directory)
            let end = FileEnd(index: open.index, name: name.description, bytes: open.bytes, samples: open.samples)
            guard let sealed = try file.seal(end) else { continue }
            try directory.sync(calls: calls)
            record.logs[index].files.append(try sealed.certify(in: directory))
        }
        if !record.status.isOver {
            let isStopped = !record.logs.isEmpty && record.logs.allSatisfy { $0.isMarkedStopped == true }
            record.status.advance(to: isStopped && failures.isEmpty ? .finished : .failed)
            if !isStopped, failures.isEmpty { record.failures.append("interrupted; recovered offline") }
        }
        let waiting = recovered.record.status.isOver ? 0 : recovered.waitingSamples
        if failures.isEmpty, waiting > 0 {
            record.note(failures: [
                "only the write-ahead log has \(waiting.counted("sample")) that waited for missing ones: to record them, start a "
                    + "recorder, which resumes the original session"
            ])
        }
        if record.endDate == nil { record.endDate = lastDate ?? self.lastDate(of: record) ?? record.startDate }
        record.logPosition = nil
        return record
    }
}

extension RecoveredSession {
    /// The number of samples that waited for samples before them when the session was interrupted. The write-ahead log has them,
    /// and no file.
    fileprivate var waitingSamples: Int {
        var positions = logs.mapValues { log in
            Dictionary(log.positions.map { ($0.epoch, $0.next) }) { max($0, $1) }
        }
        // After a stream's end, samples that arrived too late may be left.
        let ended = Set(record.logs.filter { $0.isMarkedStopped == true }.map(\.name))
        var waiting = 0
        for batch in held where !ended.contains(batch.log) {
            batch.body.withUnsafeBytes { frame in
                // Unreadable batches were refused before.
                guard let body = try? SampleBody(frame) else { return }
                let epoch = SampleBody.string(at: body.epoch, in: frame)
                // Most batches were recorded since, when the missing samples had arrived.
                let next = max(body.sequence, positions[batch.log]?[epoch] ?? 0)
                let end = max(next, body.sequence.addingClamped(body.count))
                waiting += end - next
                positions[batch.log, default: [:]][epoch] = end
            }
        }
        return waiting
    }
}
