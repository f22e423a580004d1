package import Messages

/// The plan with which another recorder can continue a session.
extension SessionPlan {
    /// The plan to record the session from its start. Another machine's clock was not set, so dates are the wall clock's: see
    /// `SessionRecord.clockSet`.
    package init(_ record: SessionRecord) {
        let set = record.clockAhead
        let startDate = record.startDate.adding(set)
        let isDefault = record.isFormatDefault == true
        let choices = Dictionary((record.choices ?? []).map { ($0.stream, $0) }) { first, _ in first }
        var start = RecordingStart(
            session: record.session.text, task: record.task.isEmpty ? nil : record.task,
            step: record.step.isEmpty ? nil : record.step, streams: [],
            format: isDefault ? nil : record.format.rawValue,
            root: isDefault || record.format != .json ? nil : record.root.rawValue,
            maximumFileSize: record.limits.maximumFileSize, maximumFileAge: record.limits.maximumFileAge,
            resultsWithin: record.limits.resultsWithin, keys: record.keys, from: startDate,
            keep: record.limits.keep)
        start.streams = record.streams.map { choices[$0] ?? StreamChoice($0) }
        let changes = record.changes.compactMap { SessionChange($0, since: startDate) }
        start.changes = changes.isEmpty ? nil : changes
        let end = record.limits.duration.map { startDate.seconds + (record.limits.before ?? 0) + $0 }
        start.until = end.map { WallTime(seconds: $0) }
        let annotations = record.annotations?.map { annotation in
            var annotation = annotation
            annotation.from = annotation.from.adding(set)
            annotation.to = annotation.to?.adding(set)
            annotation.date = annotation.date.adding(set)
            return annotation
        }
        self.init(start: start, annotations: annotations)
    }
}

extension SessionChange {
    /// - Returns: nil for a change that no request can make.
    fileprivate init?(_ change: SessionRecord.Change, since start: WallTime) {
        let kind: RecordingEvent.Change
        switch change.event {
        case .step: kind = .step
        case .pause: kind = .pause
        case .resume: kind = .resume
        default: return nil
        }
        let date = start.adding(Int64(nanosecondsIn: change.timestamp))
        self.init(kind, at: date, step: change.step, stream: change.stream)
    }
}

extension SessionRecord {
    /// Most changes in a request: all of them are stored with each change. A lease has room for fewer.
    private static let maximumChanges = 20_000

    /// Applies the steps and pauses of a session that another recorder began.
    package mutating func take(_ changes: [SessionChange]) {
        for change in changes {
            let timestamp = change.date.seconds(since: startDate)
            switch change.change {
            case .step: steps.append(Step(date: change.date, timestamp: timestamp, step: change.step ?? ""))
            case .pause: pauses.append(Pause(from: timestamp, stream: change.stream))
            case .resume:
                guard let open = pauses.lastIndex(where: { $0.stream == change.stream && $0.to == nil }) else {
                    continue
                }
                pauses[open].to = timestamp
            default: continue
            }
        }
    }

    /// Refuses changes that are not possible.
    /// - Throws: `invalidParameter`.
    package static func check(_ changes: [SessionChange]?, from start: WallTime?) throws(RequestError) {
        guard let changes, let last = changes.last else { return }
        guard let start else {
            throw RequestError(.invalidParameter, "changes are those since the session's start: write it as from")
        }
        guard changes.count <= maximumChanges else {
            throw RequestError(
                .invalidParameter, "changes has \(changes.count) entries: write at most \(maximumChanges)")
        }
        let dates = [start] + changes.map(\.date)
        guard zip(dates, dates.dropFirst()).allSatisfy({ $0 <= $1 }) else {
            throw RequestError(
                .invalidParameter, "changes until \(last.date.utcText) are not in the order of their time since from")
        }
        for change in changes {
            guard [.step, .pause, .resume].contains(change.change) else {
                throw RequestError(
                    .invalidParameter, "changes has '\(change.change.rawValue)': write step, pause or resume")
            }
            let count = change.step?.utf8.count ?? 0
            guard count <= maximumNameLength else {
                throw RequestError(
                    .invalidParameter, "a step of changes has \(count) bytes: write at most \(maximumNameLength)")
            }
        }
    }
}
