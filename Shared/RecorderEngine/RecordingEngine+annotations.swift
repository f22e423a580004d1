import Files
import Messages
import RecorderCore
import Recording
import Runtime

/// Annotations in sessions, including sessions that are over.
extension RecordingEngine {
    /// Adds an annotation. When this returns, the annotation survives a power cut.
    func annotate(_ request: RecordingAnnotate) async throws -> RecordingAnnotate.Reply {
        let identifier = try SessionIdentifier(request.session)
        guard try core.annotatable(identifier) == nil else {
            var result: (annotation: Annotation, isNew: Bool)?
            _ = try await change(request.session) { session in
                let noted = try session.annotate(request, at: now)
                result = noted
                return noted.isNew
                    ? { [core] now in
                        core.publish(
                            .annotation, of: session, at: now, stream: noted.annotation.stream,
                            annotation: noted.annotation)
                    } : nil
            }
            guard let result else { throw RequestError(.inputOutput, "the annotation was not kept") }
            return RecordingAnnotate.Reply(session: request.session, annotation: result.annotation)
        }
        let date = now.date
        let (record, annotation, isNew) = try await disk.run { [data, shard = settings.shard] in
            let directory = try SessionDirectory.open(identifier, in: data)
            // `recorder fill` replaces the session's directory.
            let lock: DirectoryLock
            do throws(RecordingError) {
                lock = try SessionRewrite.lock(directory)
            } catch {
                guard error.code == .locked else { throw error }
                throw RequestError(.busy, "session \(identifier) is being filled: ask again", retryAfter: 5)
            }
            defer { withExtendedLifetime(lock) {} }
            let record = try directory.record()
            try record.checkAnnotatable(by: shard)
            let known = try directory.annotations(of: record)
            let (annotation, isNew) = try record.annotation(request, known: known, at: date)
            if isNew { try directory.add(annotation) }
            return (record, annotation, isNew)
        }
        if isNew {
            core.publish(annotation, of: record)
            perform()
        }
        return RecordingAnnotate.Reply(session: request.session, annotation: annotation)
    }
}
