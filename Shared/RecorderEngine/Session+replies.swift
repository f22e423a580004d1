import Files
import Messages
import Recording
import SystemPackage

extension RecordingState {
    /// The state of a session on disk.
    init(_ record: SessionRecord) {
        self.init(
            session: record.session.text, status: record.status.rawValue,
            step: SessionTimeline.path(task: record.task, step: record.steps.last?.step ?? record.step),
            paused: record.pauses.contains { $0.stream == nil && $0.to == nil },
            logs: record.logs.map { log in
                LogSummary(
                    name: log.name.text, file: log.file ?? log.files.last?.name ?? "",
                    stream: StreamName(device: log.device, stream: log.stream),
                    samples: log.files.reduce(0) { $0 + $1.samples }, bytes: log.files.reduce(0) { $0 + $1.bytes },
                    gaps: log.gaps.count, recovered: log.counts.recovered)
            },
            failures: record.failures.isEmpty ? nil : record.failures)
        describe(record)
    }
}

extension RecordingResult {
    /// The result of a session that is over.
    init(_ record: SessionRecord, report: SessionReport, in directory: SessionDirectory) {
        self.init(
            session: record.session.text, status: record.status.rawValue, report: report,
            directory: directory.directory.path.string,
            logs: record.logs.map { log in
                Log(
                    name: log.name.text, files: log.files.map(\.name),
                    samples: log.files.reduce(0) { $0 + $1.samples },
                    gaps: report.streams.first { $0.log == log.name.text }?.gaps.count ?? 0)
            })
    }
}
