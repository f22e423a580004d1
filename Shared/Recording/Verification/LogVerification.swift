import Files
import Messages
import SystemPackage

/// Follows one log through its files, and checks that each of its samples is there once, as far as the log itself shows.
struct LogVerification {
    let log: SessionRecord.Log
    let record: SessionRecord
    let session: SessionVerification
    /// The next sample of each epoch.
    var places: [String: Int] = [:]
    var epoch: String?
    var gaps: [Gap] = []
    var samples = 0
    /// Samples between a place that was reached and the next one stated: left out during pauses, or missing.
    var skipped = 0
    /// Samples in files of fills.
    var filledSamples = 0
    /// Whether files were removed, and how many samples were in them.
    var hasRemoved = false
    var removedSamples = 0

    private var isOver: Bool { record.status.isOver }

    /// - Parameters:
    ///   - finished: the entry in `session.json`; `nil` for a file that is not listed.
    ///   - commits: the journal's lines about the file: its samples at certain lengths.
    mutating func read(_ name: String, finished: FinishedFile?, commits: [JournalEntry]) throws(RecordingError) {
        let path = session.directory.directory.path.appending(name)
        let file = try OpenFile(path, .readOnly, action: "read")
        let format = self.record.format(of: log)
        let terminatorLength = LogFile.terminator(format, self.record.root).count
        var commits = commits[...]
        var found = 0
        var scanner = try LogScanner(file, format: format, root: self.record.root)
        // Samples that are not in `places` yet.
        var behind = 0
        while let record = try next(&scanner, of: file) {
            if record.isSample {
                found += 1
                behind += 1
            } else {
                advance(by: behind)
                behind = 0
                take(scanner.record, name: name)
            }
            let length = scanner.end + terminatorLength
            while let commit = commits.first, commit.bytes <= length {
                commits.removeFirst()
                if commit.bytes == length, commit.samples == found { continue }
                damage(name, "has not \(commit.samples) samples in \(commit.bytes) bytes, as the journal says")
            }
        }
        let size = Int(try file.byteCount())
        advance(by: behind)
        samples += found
        session.files += 1
        session.samples += found
        if !scanner.isClean {
            damage(
                name,
                scanner.openingEnd == nil
                    ? "does not begin as a log does"
                    : "is not valid after \(scanner.end) bytes and \(found) samples: \(size - scanner.end) bytes follow"
                        + (isOver ? "" : "; `recorder recover` repairs that"))
        }
        if let commit = commits.last {
            damage(name, "ends before \(commit.bytes) bytes, which were on disk as the journal says")
        }
        if let finished, finished.samples != found {
            damage(name, "has \(found) samples in place of \(finished.samples)")
        }
        if let finished, finished.bytes != size { damage(name, "has \(size) bytes in place of \(finished.bytes)") }
    }

    /// The next record of a file. A recorder may be writing to the file: an incomplete record at its end is read once more.
    func next(_ scanner: inout LogScanner, of file: OpenFile) throws(RecordingError) -> LogScanner.Record? {
        if let record = try scanner.next() { return record }
        guard !isOver, !scanner.isClean else { return nil }
        scanner = try LogScanner(
            file, format: record.format(of: log), root: record.root, from: scanner.end, types: scanner.types)
        return try scanner.next()
    }

    private mutating func advance(by samples: Int) {
        if let epoch { places[epoch, default: 0] += samples }
    }

    /// Skips a removed file: it counts with its listed samples. The next file states its own place.
    mutating func pass(_ finished: FinishedFile) {
        hasRemoved = true
        removedSamples = removedSamples.addingClamped(finished.samples)
        epoch = nil
    }

    private mutating func take(_ marker: LogRecord, name: String) {
        if let gap = marker.gap {
            gaps.append(gap)
            places[gap.epoch] = max(places[gap.epoch] ?? 0, gap.from.addingClamped(gap.count))
        } else if marker.marker == "gap" {
            damage(name, "has a gap that does not say which samples it is of")
        } else if let (next, from) = marker.position {
            if let place = places[next] {
                if from < place {
                    damage(name, "goes back to sample \(from) of epoch \(next), after \(place - 1) was there already")
                }
                // Samples before the session's start do not belong to it; it may begin in the past.
                let first = log.epoch(next)?.from ?? 0
                skipped = skipped.addingClamped(max(0, from - max(place, first)))
            }
            places[next] = from
            epoch = next
        }
    }

    /// Checks whether a file of filled samples has everything that was written.
    mutating func read(filled file: SessionRecord.FilledFile) throws(RecordingError) {
        let path = session.directory.directory.path.appending(file.name)
        var parts = file.gaps.flatMap { filled in
            filled.parts.compactMap { part in
                part.samples.map { (epoch: filled.gap.epoch, from: part.from, samples: $0) }
            }
        }[...]
        var scanner = try LogScanner(path, format: record.format(of: log), root: record.root)
        var found = 0
        var rest = 0
        while let next = try scanner.next() {
            if next.isSample {
                found += 1
                rest -= 1
            } else if let position = scanner.record.position {
                guard let part = parts.popFirst(), rest == 0, position == (part.epoch, part.from) else {
                    return damage(
                        file.name, "does not have the samples that session.json says, from \(position.from) on")
                }
                rest = part.samples
            }
        }
        if !scanner.isClean { damage(file.name, "is not valid after \(scanner.end) bytes and \(found) samples") }
        if !parts.isEmpty || rest != 0 || found != file.samples {
            damage(file.name, "has \(found) samples in place of \(file.samples)")
        }
        filledSamples += found
        session.files += 1
        session.samples += found
    }

    func conclude() {
        let name = "\(log.device)/\(log.stream)"
        let filled = (log.fills ?? []).flatMap(\.gaps)
        for gap in gaps
        where isOver && !log.gaps.contains(where: { $0.isAlike(gap) })
            && !filled.contains(where: { $0.gap.isAlike(gap) })
        {
            damage(name, "session.json does not have the gap of its log: \(gap.sentence)")
        }
        // Samples that must have been in the removed files.
        var passed = removedSamples
        for gap in log.gaps {
            let isInLog =
                gaps.contains { $0.isAlike(gap) } || filled.contains { $0.rest.contains { $0.isAlike(gap) } }
            if hasRemoved, !isInLog { passed = passed.addingClamped(gap.count) }
            // If a gap could not be written, its marker may not have been written either.
            if gap.reason == .notWritten || isInLog || hasRemoved {
                session.find(.loss, name, "lost: \(gap.sentence)")
            } else {
                damage(name, "its log does not have the gap of session.json: \(gap.sentence)")
            }
        }
        guard isOver else { return }
        let written = samples.addingClamped(removedSamples)
        let counts = log.counts
        if written != counts.written {
            damage(name, "has \(written) samples, and session.json says \(counts.written)")
        }
        let lost = log.gaps.reduce(log.filledNumbers) { $0.addingClamped($1.count) }
        let spans = log.epochs.reduce(0) { $0.addingClamped($1.next - $1.from) }
        let expected = counts.received.addingClamped(lost)
        if spans != expected {
            damage(
                name,
                "its epochs have \(spans) samples, and \(counts.written) written, \(counts.paused) paused and "
                    + "\(lost) lost ones make \(expected)")
        }
        if skipped > counts.paused.addingClamped(passed) {
            damage(
                name,
                "\(skipped) samples are missing between records, and \(counts.paused) were paused"
                    + (hasRemoved ? ", \(passed) in files that were removed" : ""))
        }
    }

    private func damage(_ subject: String, _ text: String) { session.find(.damaged, subject, text) }
}
