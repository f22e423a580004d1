import Files
import Messages
import SystemPackage

extension SessionDirectory {
    /// Looks at every byte of a session: hashes, sizes, records, their continuity, and whether the report fits.
    ///
    /// Nothing is changed. Takes time in proportion to the size of the session, and memory that does not grow with it.
    package func verify() -> SessionVerification {
        var verification = SessionVerification()
        verification.name = session.text
        do throws(RecordingError) {
            let record = try record()
            verification.streams = record.logs.count
            let hashes = hashes(into: &verification)
            let removed = try removedFiles()
            try verifyChecksums(of: record, hashes: hashes, removed: removed, into: &verification)
            try verifyLogs(of: record, hashes: hashes, removed: removed, into: &verification)
            verifyReport(of: record, into: &verification)
            for failure in record.failures { verification.loss(Self.recordName, "failure: \(failure)") }
        } catch {
            verification.damage(error.path?.lastComponent?.string ?? Self.recordName, "\(error)")
        }
        return verification
    }

    private func hashes(into verification: inout SessionVerification) -> [String: String] {
        var hashes: [String: String] = [:]
        for name in (try? directory.names()) ?? [] where Self.hasChecksum(name) && isFile(name) {
            do {
                hashes[name] = try FinishedFile.measure(directory.path.appending(name)).sha256
            } catch {
                // One that was removed meanwhile is none.
                if error.code == .notFound { continue }
                hashes[name] = ""
                verification.damage(name, "\(error)")
            }
        }
        return hashes
    }

    /// Compares all files with `SHA256SUMS`, byte for byte.
    private func verifyChecksums(
        of record: SessionRecord, hashes: [String: String], removed: [String: RemovedFile],
        into verification: inout SessionVerification
    ) throws(RecordingError) {
        guard directory.contains(Self.checksumsName) else {
            verification.loss(
                Self.recordName,
                record.status.isOver
                    ? "the session is \(record.status), but was not finished: there is no \(Self.checksumsName)"
                    : "the session is not over, but \(record.status)")
            return
        }
        let text = try directory.read(Self.checksumsName)
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        // What was removed before the session's end is not in it.
        let listed = Set(lines.map { String($0.dropFirst(66)) })
        var known = hashes
        for file in record.logs.flatMap(\.files) where removed[file.name] != nil && listed.contains(file.name) {
            known[file.name] = file.sha256
        }
        let expected = known.keys.sorted().map { "\(known[$0] ?? "")  \($0)" }
        if text.elementsEqual(expected.map { $0 + "\n" }.joined().utf8) { return }
        let count = verification.findings.count
        for (name, line) in zip(known.keys.sorted(), expected) where !lines.contains(line) {
            verification.damage(
                name,
                listed.contains(name)
                    ? "is not what \(Self.checksumsName) says" : "is not in \(Self.checksumsName)")
        }
        for (line, name) in lines.map({ ($0, String($0.dropFirst(66))) }) where known[name] == nil {
            verification.damage(name.isEmpty ? line : name, "is missing")
        }
        if verification.findings.count == count {
            verification.damage(Self.checksumsName, "is not as it was written")
        }
    }

    private func verifyLogs(
        of record: SessionRecord, hashes: [String: String], removed: [String: RemovedFile],
        into verification: inout SessionVerification
    ) throws(RecordingError) {
        let finished = FinishedName.byLog(try directory.names())
        var removed = removed
        let lines = JournalEntry.valid(in: (try? JournalEntry.read(in: directory)) ?? [])
        for name in try strayNames(of: record) {
            switch record.status {
            case .finished, .cancelled: verification.damage(name, "is of no log that session.json has")
            case .failed: verification.loss(name, "is of no log that session.json has")
            default: verification.loss(name, "was begun, but is not in session.json yet")
            }
        }
        for log in record.logs {
            var reading = LogVerification(log, of: record)
            let listed = Dictionary(log.files.map { ($0.name, $0) }) { first, _ in first }
            let unlisted = (finished[log.name] ?? []).map(\.description).filter { listed[$0] == nil }
            for name in unlisted {
                switch record.status {
                case .finished, .cancelled: verification.damage(name, "is not in session.json")
                case .failed: verification.loss(name, "could not be finished: it is not in session.json")
                default: verification.loss(name, "was finished, but is not in session.json yet")
                }
            }
            var files = (log.files.map(\.name) + unlisted).compactMap { FinishedName($0, of: log.name) }.sorted()
                .map { (name: $0.description, finished: listed[$0.description]) }
            if let file = log.file { files.append((name: file, finished: nil)) }
            for file in log.files where FinishedName(file.name, of: log.name) == nil {
                verification.damage(Self.recordName, "\(file.name) is no file of \(log.name)")
            }
            for (segment, file) in files.enumerated() {
                if isFile(file.name) {
                    if let finished = file.finished, let hash = hashes[file.name], hash != finished.sha256 {
                        verification.damage(file.name, "its bytes are not the ones that were written")
                    }
                    let commits = lines[log.name, default: []].filter { $0.kind == .commit && $0.segment == segment }
                    do {
                        try reading.read(
                            file.name, in: directory, finished: file.finished, commits: commits, into: &verification)
                        continue
                    } catch {
                        if error.code != .notFound {
                            verification.damage(file.name, "\(error)")
                            continue
                        }
                    }
                }
                // It may have been removed just now.
                if hashes[file.name] != nil { removed = try removedFiles() }
                if let finished = file.finished, let line = removed[file.name], line.isSame(as: finished) {
                    verification.remove(line, samples: finished.samples)
                    reading.pass(finished)
                } else {
                    verification.damage(
                        file.name,
                        removed[file.name] == nil
                            ? "is missing" : "is missing, and what was removed had other bytes than were written")
                }
            }
            if let file = log.file, record.status.isOver {
                if record.status == .failed {
                    verification.loss(file, "could not be finished")
                } else {
                    verification.damage(file, "is being written, as session.json says, and the session is over")
                }
            }
            reading.conclude(into: &verification)
        }
    }

    /// The report is made of `session.json` alone; only commit latencies are its own.
    private func verifyReport(of record: SessionRecord, into verification: inout SessionVerification) {
        guard record.status.isOver else { return }
        do throws(RecordingError) {
            var report = try report()
            let openBytes = record.logs.compactMap { log in log.file.map { (log.name, size(of: $0)) } }
            var expected = SessionReport(
                record, openBytes: Dictionary(openBytes) { first, _ in first }, commitLatency: report.commitLatency)
            let clocks = report.clocks ?? []
            let expectedClocks = expected.clocks ?? []
            // Made of times that are stored in microseconds.
            let areAlike =
                clocks.count == expectedClocks.count
                && zip(clocks, expectedClocks).allSatisfy { $0.isAlike($1, within: 5e-6) }
            report.clocks = nil
            expected.clocks = nil
            if !areAlike || report != expected {
                verification.damage(Self.reportName, "does not fit to session.json")
            }
        } catch {
            if error.code == .notFound {
                verification.loss(Self.reportName, "is missing")
            } else {
                verification.damage(Self.reportName, "\(error)")
            }
        }
    }

    /// What became of files that do not exist any more, as far as anything says so.
    func removedFiles() throws(RecordingError) -> [String: RemovedFile] {
        let gone = try RemovedFile.read(in: directory).filter { !isFile($0.name) }
        return Dictionary(gone.map { ($0.name, $0) }) { _, last in last }
    }
}

extension ClockOffset {
    /// Whether both say the same, but for so many seconds. The drift follows from the rest.
    fileprivate func isAlike(_ other: ClockOffset, within seconds: Double) -> Bool {
        endpoint == other.endpoint && comparisons == other.comparisons
            && (first - other.first).magnitude <= seconds && (last - other.last).magnitude <= seconds
            && (uncertainty - other.uncertainty).magnitude <= seconds
    }
}
