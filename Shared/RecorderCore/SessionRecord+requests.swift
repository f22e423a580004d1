package import Messages
package import Recording

/// Which requests a session on disk accepts.
extension SessionRecord {
    /// Whether the session is over or recorded by this shard; always true without shards.
    package func isAvailable(to shard: Shard?) -> Bool { shard == nil || self.shard == shard || status.isOver }

    /// Names the recorder that records the session, for error messages.
    package var recorder: String { "recorder \(shard.map { "with shard \($0)" } ?? "without a shard")" }

    /// - Throws: if another shard's recorder records the session now.
    package func checkAvailable(to shard: Shard?) throws(RequestError) {
        if isAvailable(to: shard) { return }
        throw RequestError(.unknownSession, "session \(session) is recorded by the \(recorder): ask that one")
    }

    /// - Throws: if another shard's recorder uses the session's name now.
    package func checkUntaken(by shard: Shard?) throws(RequestError) {
        if isAvailable(to: shard) { return }
        throw RequestError(
            .alreadyRunning, "session \(session) is recorded by the \(recorder): start one of another name")
    }

    /// - Throws: unless this recorder may add annotations to the session, which is not in progress.
    package func checkAnnotatable(by shard: Shard?) throws(RequestError) {
        // Another recorder may write to it at the same time.
        guard self.shard == shard else {
            throw RequestError(.unknownSession, "session \(session) belongs to the \(recorder): ask that one")
        }
        guard status.isOver else {
            throw RequestError(.busy, "session \(session) is \(status): ask again", retryAfter: 5)
        }
    }

    /// Why the session, which is not in progress, can't be changed.
    package var refusalToChange: RequestError {
        RequestError(.finished, "session \(session) is over (\(status)): start another one")
    }

    /// Why nothing can be added to the session, which is not in progress.
    package var refusalToResults: RequestError {
        RequestError(.finished, "session \(session) is over (\(status)): it came too late to be kept with it")
    }

    /// - Parameter results: results to keep with the session. Late results are refused, so that their sender knows.
    /// - Throws: if the session, which is not in progress, does not already have these results.
    package func checkResults(_ results: JSONValue?) throws(RequestError) {
        guard let results, self.results != results else { return }
        throw RequestError(.finished, "session \(session) is over, and its results came too late to be kept with it")
    }

    /// - Throws: if the session, which is not in progress, has no report.
    package func checkReported() throws(RequestError) {
        guard status != .cancelled else {
            throw RequestError(
                .finished, "session \(session) was cancelled and has no result; recording.status says how far it came")
        }
        guard status.isOver else {
            throw RequestError(.notRunning, "session \(session) was interrupted (\(status)) and has no report")
        }
    }
}

extension RecordingList {
    /// - Throws: if the limit is out of range.
    package func check() throws(RequestError) {
        guard let limit else { return }
        try RequestError.require(
            (1...Self.maximumLimit).contains(limit), "limit is \(limit): write 1 to \(Self.maximumLimit)")
    }

    /// The requested page of all sessions, the oldest first.
    package func page(of sessions: [Entry]) throws(RequestError) -> Reply {
        let sorted = sessions.sorted { ($0.startDate, $0.session) < ($1.startDate, $1.session) }
        var page = sorted[...]
        if let after {
            guard let index = sorted.firstIndex(where: { $0.session == after }) else {
                throw RequestError(
                    .invalidParameter, "there is no session '\(after)' any more: list from the beginning again")
            }
            page = sorted[(index + 1)...]
        }
        let limit = limit ?? page.count
        return Reply(recordings: Array(page.prefix(limit)), more: page.count > limit ? true : nil)
    }
}
