import FoundationEssentials
import Messages
package import SystemPackage

extension SessionDirectory {
    /// Copies a session, recovers the copy, and finishes it as far as it came. The original is only read.
    ///
    /// A session that had not ended is `failed` then, unless the stop is in all of its logs.
    /// - Parameters:
    ///   - path: the session's directory.
    ///   - copy: where the copy is made; must not be there.
    /// - Throws: `notFound` or `unreadable` where there is nothing to recover; `alreadyExists`; what reading and writing
    ///   bring. The copy is removed then.
    package static func recover(
        copyOf path: FilePath, to copy: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let original = try SessionDirectory(at: path)
        let target = Directory(copy)
        try target.createExclusively()
        do {
            for name in try original.directory.names() where !name.hasPrefix(".") {
                let file = path.appending(name)
                guard (try? file.stat(followTargetSymlink: false).type) == .regular else { continue }
                try original.copy(name, to: target)
            }
            let directory = try SessionDirectory(at: copy)
            if directory.needsRecovery() { try directory.finish(directory.recover()) }
            return directory
        } catch {
            // It was made by this call, and half a copy would be taken for a recording.
            try? FileManager.default.removeItem(atPath: copy.string)
            throw error
        }
    }

    private func copy(_ name: String, to target: Directory) throws(RecordingError) {
        var file = try GrowingFile(
            creating: target.path.appending(name), opening: [], terminator: [], calls: .system)
        let source = try OpenFile(directory.path.appending(name), .readOnly, action: "read")
        let pieceSize = 1 << 20
        var offset = 0
        var bytes: [UInt8] = []
        repeat {
            bytes.removeAll(keepingCapacity: true)
            try source.forEachPiece(in: offset..<(offset + pieceSize)) { bytes += $0 }
            try file.append(bytes)
            offset += bytes.count
        } while bytes.count == pieceSize
    }

    /// Ends a session that was recovered, with what its files have.
    private func finish(_ recovered: RecoveredSession) throws(RecordingError) {
        var record = recovered.record
        for index in record.logs.indices {
            let log = record.logs[index]
            record.logs[index].file = nil
            guard let file = recovered.logs[log.name]?.file else { continue }
            let last = log.files.last.flatMap { FinishedName($0.name, of: log.name) }
            let sealed = try file.seal(at: log.fileDate ?? record.startDate, after: last)
            record.logs[index].files.append(try sealed.complete(hash: nil))
        }
        if !record.status.isOver {
            let isStopped = !recovered.logs.isEmpty && recovered.logs.values.allSatisfy(\.isMarkedStopped)
            record.status.rise(to: isStopped ? .finished : .failed)
            if !isStopped { record.failures.append("cut off; recovered offline") }
        }
        if record.endDate == nil {
            record.endDate = try Journal.read(in: directory).entries.map(\.date).max() ?? record.startDate
        }
        try write(SessionReport(record))
        try write(record)
        try writeChecksums(known: record.logs.flatMap(\.files))
    }
}
