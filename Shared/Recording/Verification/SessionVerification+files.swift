package import Files
import Messages
import SystemPackage

extension SessionDirectory {
    /// Checks every byte of a session: hashes, sizes, records, their continuity, and the report.
    ///
    /// Changes nothing. The time grows with the size of the session; the memory does not.
    package func verify(progress: @escaping SessionVerification.Progress = { _, _ in }) -> SessionVerification {
        let verification = SessionVerification(of: self, progress: progress)
        do throws(RecordingError) {
            try verification.verify(try record())
        } catch {
            verification.find(.damaged, error.path?.lastComponent?.string ?? Self.recordName, "\(error)")
        }
        return verification
    }

    /// The lines about files that were removed, by name.
    package func removedFiles() throws(RecordingError) -> [String: RemovedFile] {
        let gone = try RemovedFile.read(in: directory).filter { !isFile($0.name) }
        return Dictionary(gone.map { ($0.name, $0) }) { _, last in last }
    }

    /// The removed files of which an archive may have the only copy, because they were not uploaded. A ring's files are not among
    /// them: it removes them while the session runs, when there is no archive yet.
    package func removedWithoutUpload() throws(RecordingError) -> Set<String> {
        Set(try removedFiles().values.filter { $0.uploaded == nil && $0.reason != RemovedFile.ring }.map(\.name))
    }
}

extension SessionVerification {
    fileprivate func verify(_ record: SessionRecord) throws(RecordingError) {
        streams = record.logs.count
        takeHashes()
        gone = try directory.removedFiles()
        try verifyChecksums(of: record)
        try verifyLogs(of: record)
        verifyReport(of: record)
        for failure in record.failures { find(.loss, SessionDirectory.recordName, "failure: \(failure)") }
    }

    private func takeHashes() {
        let names = ((try? directory.directory.names()) ?? []).filter {
            SessionDirectory.hasChecksum($0) && directory.isFile($0)
        }
        let sizes = names.map(directory.size(of:))
        expect(bytes: 2 * sizes.reduce(0, +))
        for (name, size) in zip(names, sizes) {
            do {
                hashes[name] = try FinishedFile.measure(directory.directory.path.appending(name)).sha256
                pass(bytes: size)
            } catch {
                // A file that was removed meanwhile does not count.
                if error.code == .notFound { continue }
                hashes[name] = ""
                find(.damaged, name, "\(error)")
            }
        }
    }

    /// Compares all files with `SHA256SUMS`, byte for byte.
    private func verifyChecksums(of record: SessionRecord) throws(RecordingError) {
        let sums = SessionDirectory.checksumsName
        guard directory.hasChecksums else {
            return find(
                .loss, SessionDirectory.recordName,
                record.status.isOver
                    ? "the session is \(record.status), but was not finished: there is no \(sums)"
                    : "the session is not over, but \(record.status)")
        }
        let text = try directory.directory.read(sums)
        let lines = text.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        let names = lines.map { String(decoding: $0.utf8.dropFirst(66), as: UTF8.self) }
        // Files that were removed before the session's end are not listed.
        let listed = Set(names)
        var known = hashes
        for file in record.logs.flatMap(\.files) where gone[file.name] != nil && listed.contains(file.name) {
            known[file.name] = file.sha256
        }
        let annotations = SessionDirectory.annotationsName
        let listedHash = zip(lines, names).first { $0.1 == annotations }.map { String($0.0.prefix(64)) }
        if let hash = known[annotations], hash != listedHash, directory.annotationsContinue(listedHash) {
            known[annotations] = listedHash
            find(.whole, annotations, "has lines that \(sums) does not have yet; the next annotation completes it")
        }
        let expected = known.sorted { $0.key < $1.key }.map { (name: $0.key, line: "\($0.value)  \($0.key)") }
        if text.elementsEqual(expected.map { $0.line + "\n" }.joined().utf8) { return }
        let count = findings.count
        for (name, line) in expected where !lines.contains(line) {
            find(.damaged, name, listed.contains(name) ? "is not what \(sums) says" : "is not in \(sums)")
        }
        for (line, name) in zip(lines, names) where known[name] == nil {
            find(.damaged, name.isEmpty ? line : name, "is missing")
        }
        if findings.count == count { find(.damaged, sums, "is not as it was written") }
    }

    /// Notes a file that `session.json` does not list. It should list all files of a session that ended cleanly.
    private func find(unlisted name: String, of record: SessionRecord, _ text: String, failed: String, running: String)
    {
        switch record.status {
        case .finished, .cancelled: find(.damaged, name, text)
        case .failed: find(.loss, name, failed)
        default: find(.loss, name, running)
        }
    }

    private func verifyLogs(of record: SessionRecord) throws(RecordingError) {
        let names = try directory.directory.names()
        let finished = FinishedName.byLog(names)
        let lines = JournalEntry.valid(in: (try? JournalEntry.read(in: directory.directory)) ?? [])
        let unknown = finished.filter { entry in !record.logs.contains { $0.name == entry.key } }
        for name in record.strays(among: names, finished) + unknown.values.joined().sorted().map(\.description) {
            let text = "belongs to no log in session.json"
            find(
                unlisted: name, of: record, text, failed: text, running: "was begun, but is not in session.json yet")
        }
        for log in record.logs {
            var reading = LogVerification(log: log, record: record, session: self)
            let listed = Dictionary(log.files.map { ($0.name, $0) }) { first, _ in first }
            let unlisted = (finished[log.name] ?? []).map(\.description).filter { listed[$0] == nil }
            for name in unlisted {
                find(
                    unlisted: name, of: record, "is not in session.json",
                    failed: "could not be finished: it is not in session.json",
                    running: "was finished, but is not in session.json yet")
            }
            var files = (log.files.map(\.name) + unlisted).compactMap { FinishedName($0, of: log.name) }.sorted()
                .map(\.description)
            if let file = log.file { files.append(file) }
            for file in log.files where FinishedName(file.name, of: log.name) == nil {
                find(.damaged, SessionDirectory.recordName, "\(file.name) is not a file of \(log.name)")
            }
            for (segment, name) in files.enumerated() {
                let commits = lines[log.name, default: []].filter { $0.kind == .commit && $0.segment == segment }
                try verify(name, finished: name == log.file ? nil : listed[name], commits: commits, &reading)
            }
            if let file = log.file, record.status == .failed {
                find(.loss, file, "could not be finished")
            } else if let file = log.file, record.status.isOver {
                find(.damaged, file, "is being written, as session.json says, and the session is over")
            }
            for file in log.fills ?? [] { verify(filled: file, of: record, &reading) }
            reading.conclude()
        }
        for fill in record.fills ?? [] { verify(fill, of: record) }
    }

    /// Checks a file of samples that were filled in after the session. log-manager never removes such a file.
    private func verify(
        filled file: SessionRecord.FilledFile, of record: SessionRecord, _ reading: inout LogVerification
    ) {
        guard let hash = hashes[file.name] else { return find(.damaged, file.name, "is missing") }
        if hash != file.sha256 { find(.damaged, file.name, "its bytes are not the ones that were written") }
        do throws(RecordingError) {
            try reading.read(filled: file)
        } catch {
            find(.damaged, file.name, "\(error)")
        }
    }

    private func verify(_ fill: SessionRecord.Fill, of record: SessionRecord) {
        for file in fill.former where hashes[file.name] != file.sha256 {
            find(
                .damaged, file.name,
                hashes[file.name] == nil
                    ? "is missing: it is what was there before fill \(fill.number)"
                    : "is not what was there before fill \(fill.number)")
        }
        let samples = record.logs.flatMap { $0.fills ?? [] }.reduce(0) {
            $0 + ($1.fill == fill.number ? $1.samples : 0)
        }
        find(
            .whole, SessionDirectory.recordName,
            "\(samples) lost samples of \(fill.device) were filled in from \(fill.source.name) on \(fill.date.utcText)")
    }

    private func verify(
        _ name: String, finished: FinishedFile?, commits: [JournalEntry], _ reading: inout LogVerification
    ) throws(RecordingError) {
        if directory.isFile(name) {
            defer { pass(bytes: directory.size(of: name)) }
            if let finished, let hash = hashes[name], hash != finished.sha256 {
                find(.damaged, name, "its bytes are not the ones that were written")
            }
            do throws(RecordingError) {
                return try reading.read(name, finished: finished, commits: commits)
            } catch {
                if error.code != .notFound { return find(.damaged, name, "\(error)") }
            }
        }
        // The file may have been removed just now.
        if hashes[name] != nil { gone = try directory.removedFiles() }
        if let finished, let line = gone[name], line.isSame(as: finished) {
            remove(line, samples: finished.samples)
            reading.pass(finished)
        } else {
            let other = gone[name] == nil ? "" : ", and what was removed had other bytes than were written"
            find(.damaged, name, "is missing\(other)")
        }
    }

    /// The report is derived from `session.json` alone, except the commit latencies.
    private func verifyReport(of record: SessionRecord) {
        guard record.status.isOver else { return }
        do throws(RecordingError) {
            var report = try directory.report()
            let openBytes = record.logs.reduce(into: [:]) { $0[$1.name] = $1.file.map(directory.size(of:)) }
            var expected = SessionReport(record, openBytes: openBytes, commitLatency: report.commitLatency)
            let clocks = (report.clocks ?? [], expected.clocks ?? [])
            // Derived from times that are stored in microseconds.
            let areAlike = clocks.0.elementsEqual(clocks.1) { $0.isAlike($1, within: 5e-6) }
            report.clocks = nil
            expected.clocks = nil
            // Up to 0.6, a rate was computed even from uptimes of several boots.
            for index in report.streams.indices.prefix(expected.streams.count)
            where expected.streams[index].actualRate == nil {
                report.streams[index].actualRate = nil
            }
            if !areAlike || report != expected {
                find(.damaged, SessionDirectory.reportName, "does not match session.json")
            }
        } catch {
            let isMissing = error.code == .notFound
            find(isMissing ? .loss : .damaged, SessionDirectory.reportName, isMissing ? "is missing" : "\(error)")
        }
    }
}

extension ClockOffset {
    /// Whether both are equal within `seconds`. The drift follows from the rest.
    fileprivate func isAlike(_ other: ClockOffset, within seconds: Double) -> Bool {
        endpoint == other.endpoint && comparisons == other.comparisons
            && (first - other.first).magnitude <= seconds && (last - other.last).magnitude <= seconds
            && (uncertainty - other.uncertainty).magnitude <= seconds
    }
}
