package import Messages

extension RecordingState {
    /// Adds everything about a session except its streams.
    package mutating func describe(_ record: SessionRecord) {
        let step = record.steps.last?.step ?? record.step
        task = record.task.isEmpty ? nil : record.task
        currentStep = step.isEmpty ? nil : step
        startDate = record.startDate
        endDate = record.endDate
        keys = record.keys
        let paused = record.pauses.filter { $0.to == nil }.compactMap(\.stream)
        pausedStreams = paused.isEmpty ? nil : paused
        configuration = Configuration(
            streams: record.streams, format: record.format.rawValue,
            root: record.format == .json ? record.root.rawValue : nil, maximumFileSize: record.limits.maximumFileSize,
            maximumFileAge: record.limits.maximumFileAge, duration: record.limits.duration,
            shard: record.shard.map { "\($0)" }, before: record.limits.before, keep: record.limits.keep,
            choices: record.choices)
    }
}
