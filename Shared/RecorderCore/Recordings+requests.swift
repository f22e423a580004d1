package import Messages
package import Recording

/// Which requests a session accepts in its present state, and why it refuses others.
extension Recordings {
    /// A session that is in progress, or that is over and could not be stored yet.
    package func known(_ identifier: SessionIdentifier) -> Session? { sessions[identifier] ?? unstored[identifier] }

    /// - Throws: if no session of this name can begin now, as far as this recorder knows. `checkRoom` checks the rest.
    package func checkStart(of identifier: SessionIdentifier) throws {
        guard shutdownDeadline == nil else {
            throw RequestError(.stopping, "the recorder is stopping: start another one")
        }
        let status = starting[identifier] != nil ? .starting : known(identifier)?.status
        if let status { throw status.refusal(toStart: identifier) }
    }

    /// - Parameter consequence: the start of the error message: what fails for lack of space.
    package func checkRoom(_ consequence: String) throws(RequestError) {
        if let freeBytes, freeBytes < settings.minimumFree {
            throw RequestError(.noSpace, "\(consequence): \(tooLittleRoom(freeBytes))")
        }
    }

    /// A session that can be changed; nil if no session of this name is in progress.
    package func changeable(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.status <= .running else {
            throw RequestError(.finished, "session \(identifier) is \(session.status) and takes no more")
        }
        return session
    }

    /// A session to which results and files can be added; nil if no session of this name is in progress.
    package func takingResults(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.takesResults else {
            throw RequestError(
                .finished, "session \(identifier) is \(session.status): it came too late to be kept with it")
        }
        return session
    }

    /// A session to which an annotation can be added; nil if no session of this name is in progress.
    package func annotatable(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.status <= .running else {
            throw RequestError(.busy, "session \(identifier) is ending: ask again", retryAfter: 1)
        }
        return session
    }

    /// - Throws: if the session is in progress, and so has no result yet.
    package func checkResult(of identifier: SessionIdentifier) throws(RequestError) {
        guard let session = sessions[identifier] else { return }
        throw RequestError(
            .notRunning, "session \(identifier) is \(session.status): its result exists once it is stopped")
    }
}

extension Session {
    /// - Throws: if the session has failed, with the reasons.
    package func checkSound() throws(RequestError) {
        guard status == .failed else { return }
        throw RequestError(.inputOutput, "session \(identifier) failed: \(record.failures.joined(separator: "; "))")
    }

    /// Keeps the results of a task that somebody did in the session.
    /// - Throws: if they are not in a form that can be stored.
    package func take(results: JSONValue) throws(RequestError) {
        do throws(MessageError) {
            _ = try TaskResults(results)
        } catch {
            throw RequestError(
                .invalidParameter, "\(error): the session continues; stop it with results that can be stored")
        }
        note(results: results)
    }
}
