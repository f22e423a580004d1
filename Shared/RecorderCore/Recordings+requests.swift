package import Messages
package import Recording

/// What may be asked of a session now, and why it is refused otherwise.
extension Recordings {
    /// A session that is under way, or is over and could not be stored yet.
    package func known(_ identifier: SessionIdentifier) -> Session? { sessions[identifier] ?? unstored[identifier] }

    /// - Throws: why no session of this name can begin now, as far as this recorder knows. `checkRoom` checks the rest.
    package func checkStart(of identifier: SessionIdentifier) throws {
        guard shutdownDeadline == nil else {
            throw RequestError(.stopping, "the recorder is stopping: start another one")
        }
        let status = starting[identifier] != nil ? .starting : known(identifier)?.status
        if let status { throw status.refusal(toStart: identifier) }
    }

    /// - Parameter consequence: what follows from it if the disk has too little room.
    package func checkRoom(_ consequence: String) throws(RequestError) {
        if let freeBytes, freeBytes < settings.minimumFree {
            throw RequestError(.noSpace, "\(consequence): \(tooLittleRoom(freeBytes))")
        }
    }

    /// A session that can be changed; nil if none of this name is under way.
    package func changeable(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.status <= .running else {
            throw RequestError(.finished, "session \(identifier) is \(session.status) and takes no more")
        }
        return session
    }

    /// A session to which results and files can be added; nil if none of this name is under way.
    package func takingResults(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.takesResults else {
            throw RequestError(
                .finished, "session \(identifier) is \(session.status): it came too late to be kept with it")
        }
        return session
    }

    /// A session to which an annotation can be added; nil if none of this name is under way.
    package func annotatable(_ identifier: SessionIdentifier) throws(RequestError) -> Session? {
        guard let session = sessions[identifier] else { return nil }
        guard session.status <= .running else {
            throw RequestError(.busy, "session \(identifier) is ending: ask again", retryAfter: 1)
        }
        return session
    }

    /// - Throws: if a session is under way, and so has no result.
    package func checkResult(of identifier: SessionIdentifier) throws(RequestError) {
        guard let session = sessions[identifier] else { return }
        throw RequestError(
            .notRunning, "session \(identifier) is \(session.status): its result exists once it is stopped")
    }
}

extension Session {
    /// - Throws: if the session has failed, with why.
    package func checkSound() throws(RequestError) {
        guard status == .failed else { return }
        throw RequestError(.inputOutput, "session \(identifier) failed: \(record.failures.joined(separator: "; "))")
    }

    /// Keeps the results of what was asked of somebody in the session.
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
