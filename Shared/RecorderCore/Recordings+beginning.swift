import DequeModule
import Logging
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// How sessions begin, change, and resume after an interruption.
extension Recordings {
    /// Adds a new session. Its preparations, such as subscriptions, are undone when it ends.
    package func add(_ record: SessionRecord, in directory: SessionDirectory, at now: Moment) throws -> Session {
        let session = try Session(record, in: directory, appender: appender, held: held, at: now)
        sessions[session.identifier] = session
        routes = TopicTable()
        if isStoppingAll { unstopped.append(session.identifier) }
        return session
    }

    /// Opens the logs of streams that exist when a session begins, each at its next sample. If the session begins in the past,
    /// each log begins at the first sample taken after the session's start.
    package func open(_ streams: some Sequence<StreamDescription>, of session: Session, at now: Moment) {
        let wanted = streams.filter { description in
            session.wants(description.name)
                && (try? StreamRecording.check(description, startDate: session.record.startDate)) != nil
        }
        for description in wanted.sorted(by: { $0.topic < $1.topic }) where session.status == .starting {
            let first = session.record.limits.before == nil ? description.nextSequence : nil
            let stream = stream(for: description, from: first, in: session, at: now)
            if first == nil, let stream, stream.expectPast(description) { recover(stream, of: session, at: now) }
            // A recorder that is killed before the stream's next event would never publish the gaps of the past.
            if let stream, stream.hasNewGaps { announceGaps(of: stream, in: session, at: now) }
        }
        advance(at: now)
    }

    /// Begins a session whose logs are open. Every sample that arrives from now on is recorded.
    /// - Returns: whether the session is running. Publish that status only once it is durable.
    package func begin(_ session: Session) -> Bool { session.advance(to: .running) }

    /// Resumes an interrupted session.
    package func resume(_ recovered: RecoveredSession, in directory: SessionDirectory, at now: Moment) throws {
        let session = try Session(
            recovered.record, recovered: recovered, in: directory, appender: appender, held: held, at: now)
        // Files that were renamed just before the interruption were not announced.
        session.announced = recovered.listedFiles
        noteRuns(of: session)
        sessions[session.identifier] = session
        routes = TopicTable()
        log(.notice, "continuing an interrupted recording", session, ["status": "\(session.status)"])
        if session.status == .starting, session.record.limits.before != nil {
            // The request was never answered, but `relay lead` and `recorder watch` repeat theirs. Streams that are not open
            // yet are met when they are described, with their samples since the session's start.
            _ = session.advance(to: .running)
        }
        if session.status == .starting {
            // The request to start the session was never answered.
            _ = session.fail("interrupted: the recorder ended while the session was being started")
            publish(.failure, of: session, at: now, reason: session.record.failures.last)
        } else if session.status == .running, session.hasMarkedStop {
            // The write-ahead log has a session's end before a file has the stop marker. This session's end is missing: the log
            // could not take it.
            _ = session.fail("interrupted: the session was being ended, and the reason could not be written")
            publish(.failure, of: session, at: now, reason: session.record.failures.last)
        } else if session.isRecording {
            noteClock(of: session, at: now)
            session.markRestart(at: session.clock.date(at: now))
            publish(.restart, of: session, at: now)
            for stream in session.ordered { recover(stream, of: session, at: now) }
        }
        if session.status != .running || isStoppingAll { unstopped.append(session.identifier) }
        isStoringDue = true
    }

    /// Takes the free space on the disk, and stops sessions before space runs out.
    /// - Parameter free: bytes; nil if unknown.
    package func take(freeBytes free: Int?, at now: Moment) {
        freeBytes = free
        if let free, free < settings.minimumFree {
            for session in sessions.values where session.status == .running {
                session.note(failures: ["stopped: \(tooLittleRoom(free))"])
                emit(.degraded("sessions were stopped: \(tooLittleRoom(free))", for: "disk"))
                log(.error, "recording stops", session, [LogKey.error: "\(tooLittleRoom(free))"])
                unstopped.append(session.identifier)
            }
        } else {
            emit(.clear("disk"))
        }
        if sessions.isEmpty, unstored.isEmpty { emit(.restoreReserves) }
        advance(at: now)
    }

    /// The message when the free space is below `minimumFree`.
    func tooLittleRoom(_ freeBytes: Int) -> String {
        "the disk has \(ByteCount(bytes: freeBytes)) free, less than --minimum-free "
            + "\(ByteCount(bytes: settings.minimumFree)) leaves; free some space and start a new recording"
    }
}
