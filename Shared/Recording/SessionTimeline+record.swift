extension SessionTimeline {
    /// The timeline of a session, from what was stored of it.
    package init(_ record: SessionRecord) {
        self.init(task: record.task, step: record.step)
        var changes: [(timestamp: Double, apply: (inout SessionTimeline, Int64) -> Void)] = []
        for step in record.steps {
            changes.append((step.timestamp, { timeline, time in timeline.move(to: step.step, at: time) }))
        }
        for pause in record.pauses {
            changes.append((pause.from, { timeline, time in timeline.pause(at: time) }))
            if let end = pause.to { changes.append((end, { timeline, time in timeline.resume(at: time) })) }
        }
        for change in changes.sorted(by: { $0.timestamp < $1.timestamp }) {
            change.apply(&self, Int64((change.timestamp * 1e9).rounded()))
        }
    }
}
