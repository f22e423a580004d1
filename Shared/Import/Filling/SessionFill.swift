package import Files
package import Messages
package import Recording
package import SystemPackage

/// Fills the gaps of a finished session: from a phone's own recording, or from samples that a publisher still has.
///
/// Filled samples are marked, in files of their own; recorded files are not changed. After a kill at any moment, the session is
/// as before, or filled. A source finds the samples for each gap: `PhoneExport`, `BusReplays`. Everything else is the same for
/// both, and here.
package struct SessionFill {
    package struct Options: Sendable {
        /// The device whose streams are filled; nil to let the source decide.
        package var device: String?
        /// Whether to report what would be filled, and change nothing.
        package var isDryRun = false

        package init() {}
    }

    /// The outcome for a stream's gaps.
    package struct Stream: Sendable {
        package let name: StreamName
        /// The number of samples filled in, and of gaps that received some.
        package var samples = 0
        package var gaps = 0
        /// The remaining gaps.
        package var rest: [Gap] = []
        /// Notes for people.
        package var notes: [String] = []
        /// The number of gaps before the fill.
        let gapsBefore: Int

        /// A stream without filled samples.
        init(_ log: SessionRecord.Log) {
            name = StreamName(device: log.device, stream: log.stream)
            rest = log.gaps
            gapsBefore = log.gaps.count
        }

        /// Takes the filled gaps.
        mutating func take(_ filled: [SessionRecord.FilledGap], of log: SessionRecord.Log) {
            var log = log
            log.add(SessionRecord.FilledFile(fill: 0, name: "", bytes: 0, samples: 0, sha256: "", gaps: filled))
            rest = log.gaps
        }
    }

    package struct Outcome: Sendable {
        package let session: SessionIdentifier
        package let path: FilePath
        /// The streams with gaps, of the devices to fill.
        package var streams: [Stream] = []
        /// The earlier fill that used the same source; nil if there is none.
        package var formerFill: SessionRecord.Fill?
        /// Archives that were removed because they lack the filled samples.
        package var removedArchives: [String] = []
        /// The remaining gaps of the whole session.
        package var remainingGaps = 0

        package var samples: Int { streams.reduce(0) { $0 + $1.samples } }
    }

    private let path: FilePath
    private let options: Options
    private let version: String
    private let date: WallTime
    private let calls: FileCalls

    /// - Parameters:
    ///   - session: the session's directory.
    ///   - version: the program's version.
    ///   - date: now.
    package init(
        _ session: FilePath, _ options: Options, version: String, date: WallTime, calls: FileCalls = .system
    ) {
        path = session
        self.options = options
        self.version = version
        self.date = date
        self.calls = calls
    }

    /// Fills gaps from a phone's export.
    /// - Throws: `invalidParameter` with the reason why no gap can be filled; `locked`, `unreadable`, `noSpace`. The session then
    ///   stays as it was.
    package func run(from export: PhoneExport) throws(RecordingError) -> Outcome {
        let fillable = try FillableSession(path, isDryRun: options.isDryRun)
        guard fillable.gapCount > 0 else { return outcome(of: fillable) }
        return try finish(fillable, try export.findings(for: fillable, options, path, calls: calls))
    }

    /// Fills gaps from samples that publishers still have.
    /// - Throws: the same errors as with an export.
    package func run(from replays: BusReplays) async throws(RecordingError) -> Outcome {
        let fillable = try FillableSession(path, isDryRun: options.isDryRun)
        guard fillable.gapCount > 0 else { return outcome(of: fillable) }
        // This takes a while: meanwhile, an archiver must not make or upload an archive that has the gaps.
        if !options.isDryRun { try fillable.claimArchives() }
        let scratch = options.isDryRun ? nil : try FillScratch(beside: fillable.session)
        defer { withExtendedLifetime(scratch) {} }
        let findings = try await replays.findings(for: fillable, options, scratch?.directory, calls: calls)
        return try finish(fillable, findings)
    }

    private func outcome(of fillable: FillableSession) -> Outcome {
        var outcome = Outcome(session: fillable.record.session, path: path)
        outcome.remainingGaps = fillable.gapCount
        return outcome
    }

    /// Writes a source's samples, unless this is a dry run.
    private func finish(
        _ fillable: FillableSession, _ findings: FillFindings
    ) throws(RecordingError) -> Outcome {
        var outcome = outcome(of: fillable)
        outcome.streams = findings.streams
        outcome.formerFill = findings.formerFill
        guard findings.formerFill == nil else { return outcome }
        outcome.remainingGaps += findings.streams.reduce(0) { $0 + $1.rest.count - $1.gapsBefore }
        if options.isDryRun { return outcome }
        try fillable.claimArchives()
        try write(findings.additions, into: fillable) { () throws(RecordingError) in
            // Existing archives have the old content. After a kill here, an archiver makes a new one, of either version.
            outcome.removedArchives = try fillable.removeArchives()
        }
        return outcome
    }

    private func write(
        _ additions: [FillAddition], into fillable: FillableSession,
        beforeReplacing: () throws(RecordingError) -> Void
    ) throws(RecordingError) {
        let (session, old) = (fillable.session, fillable.record)
        let first = (old.fills?.last?.number ?? 0) + 1
        let latency = try session.report().commitLatency
        let former = try SessionRewrite.former(of: session, fill: first)
        let rewrite = try SessionRewrite(of: session, fill: first, holding: fillable.lock, calls: calls)
        var record = old
        var known = fillable.hashes.map { name, sha256 in
            FinishedFile(name: name, bytes: 0, samples: 0, sha256: sha256)
        }.filter { !SessionRewrite.documents.contains($0.name) }
        for (index, addition) in additions.enumerated() {
            let number = first + index
            // The former documents are kept once, under the first number.
            record.fills =
                (record.fills ?? []) + [
                    SessionRecord.Fill(
                        number: number, date: date, device: addition.device, source: addition.source,
                        offsets: addition.offsets, version: version, former: index == 0 ? former : [])
                ]
            for stream in addition.streams {
                let file = try stream.makeFile(number, rewrite.new.directory)
                known.append(
                    FinishedFile(name: file.name, bytes: file.bytes, samples: file.samples, sha256: file.sha256))
                record.logs[stream.index].add(file)
                if let uptime = stream.firstUptime { record.logs[stream.index].firstUptime = uptime }
                if let uptime = stream.lastUptime { record.logs[stream.index].lastUptime = uptime }
            }
        }
        try beforeReplacing()
        _ = try rewrite.finish(record, latency: latency, known: known)
    }
}
