import Messages
import SystemPackage

extension SessionDirectory {
    /// Looks at every byte of a session: hashes, sizes, records, their continuity, and whether the report fits.
    ///
    /// Nothing is changed. Takes time in proportion to the size of the session, and memory that does not grow with it.
    package func verify() -> SessionVerification {
        var verification = SessionVerification()
        verification.begin(session.text, streams: 0)
        do throws(RecordingError) {
            let record = try record()
            verification.begin(session.text, streams: record.logs.count)
            let hashes = try verifyChecksums(of: record, into: &verification)
            try verifyLogs(of: record, hashes: hashes, into: &verification)
            verifyReport(of: record, into: &verification)
            for failure in record.failures { verification.loss("session.json", "failure: \(failure)") }
        } catch {
            verification.damage(error.path?.lastComponent?.string ?? "session.json", "\(error)")
        }
        return verification
    }

    /// Compares all files with `SHA256SUMS`, byte for byte.
    ///
    /// - Returns: the hashes of the files.
    private func verifyChecksums(
        of record: SessionRecord, into verification: inout SessionVerification
    ) throws(RecordingError) -> [String: String] {
        var hashes: [String: String] = [:]
        let names = try directory.names().filter { Self.hasChecksum($0) && isFile($0) }.sorted()
        for name in names {
            do {
                hashes[name] = try FinishedFile.measure(directory.path.appending(name)).sha256
            } catch {
                verification.damage(name, "\(error)")
            }
        }
        guard directory.contains(Self.checksumsName) else {
            verification.loss(
                Self.recordName,
                record.status.isOver
                    ? "the session is \(record.status), but was not finished: there is no \(Self.checksumsName)"
                    : "the session is not over, but \(record.status)")
            return hashes
        }
        let expected = names.map { "\(hashes[$0] ?? "")  \($0)" }
        let text = try directory.read(Self.checksumsName)
        if text.elementsEqual(expected.map { $0 + "\n" }.joined().utf8) { return hashes }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        let count = verification.findings.count
        for name in names where !lines.contains("\(hashes[name] ?? "")  \(name)") {
            let isListed = lines.contains { $0.hasSuffix("  \(name)") }
            verification.damage(
                name, isListed ? "is not what \(Self.checksumsName) says" : "is not in \(Self.checksumsName)")
        }
        for line in lines {
            let name = String(line.dropFirst(66))
            if !names.contains(name) { verification.damage(name.isEmpty ? line : name, "is missing") }
        }
        if verification.findings.count == count {
            verification.damage(Self.checksumsName, "is not as it was written")
        }
        return hashes
    }

    private func verifyLogs(
        of record: SessionRecord, hashes: [String: String], into verification: inout SessionVerification
    ) throws(RecordingError) {
        let names = try directory.names()
        let lines = JournalEntry.valid(in: (try? Journal.read(in: directory).entries) ?? [])
        for name in try strayNames(of: record) {
            switch record.status {
            case .finished, .cancelled: verification.damage(name, "is of no log that session.json has")
            case .failed: verification.loss(name, "is of no log that session.json has")
            default: verification.loss(name, "was begun, but is not in session.json yet")
            }
        }
        for log in record.logs {
            var reading = LogVerification(log, isOver: record.status.isOver)
            let listed = Dictionary(log.files.map { ($0.name, $0) }) { first, _ in first }
            let unlisted = names.filter { listed[$0] == nil && FinishedName($0, of: log.name) != nil }.sorted()
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
                guard isFile(file.name) else {
                    verification.damage(file.name, "is missing")
                    continue
                }
                if let finished = file.finished, let hash = hashes[file.name], hash != finished.sha256 {
                    verification.damage(file.name, "its bytes are not the ones that were written")
                }
                let commits = lines[log.name, default: []].filter { $0.kind == .commit && $0.segment == segment }
                do {
                    try reading.read(
                        file.name, in: directory, format: record.format, root: record.root, finished: file.finished,
                        commits: commits, into: &verification)
                } catch {
                    verification.damage(file.name, "\(error)")
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

    private func isFile(_ name: String) -> Bool {
        (try? directory.path.appending(name).stat(followTargetSymlink: false).type) == .regular
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
