import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// How sessions end: asked to, with their duration, with the program, or because something failed.
extension RecordingEngine {
    /// How long what was published before a stop may travel before it is asked for again.
    private static let travelTime = TimeSpan.milliseconds(300)
    /// How long sessions may wait for their publishers when the program ends: less than `ServiceRunner.drainLimit`, so
    /// that their files are finished within it.
    private static let lastWait = TimeSpan.seconds(3)
    /// How long samples may come in after a stop: as long as publishers keep them by default. A hostile one could give one
    /// at a time of as many as it says that there are.
    private static let settlingLimit = TimeSpan.seconds(600)
    /// Sessions whose report could not be stored are kept in memory, at most so many.
    private static let maximumUnstored = 64

    /// Ends a session whose result nobody wants.
    func cancel(_ request: RecordingCancel) async throws -> RecordingState {
        let session = try running(request.session)
        if session.beginStopping() {
            rise(session, to: .cancelled)
            await close(session)
        }
        return session.state
    }

    /// Ends a session: every sample taken so far is in its logs when this returns.
    func stop(_ request: RecordingStop) async throws -> RecordingResult {
        let identifier = try SessionIdentifier(request.session)
        if let session = sessions[identifier] {
            if let results = request.results { try note(results, of: session) }
            // Carried out apart from the request, whose time limit must not cut a session's end short.
            ordering.yield(.stop(session: identifier))
            while sessions[identifier] === session { try await thread.sleep(until: MonotonicClock.now + 2_000_000) }
        }
        if let results = request.results { try requireStored(results, of: identifier) }
        return try storedResult(request.session)
    }

    /// Keeps what was answered in a session with it.
    private func note(_ results: JSONValue, of session: Session) throws(RequestError) {
        do throws(MessageError) {
            _ = try TaskResults(results)
        } catch {
            throw RequestError(
                .invalidParameter, "\(error): the session goes on, stop it with results that can be kept")
        }
        session.note(results: results)
    }

    /// Refuses results that came too late, for nobody would miss them.
    private func requireStored(_ results: JSONValue, of identifier: SessionIdentifier) throws {
        let record = try unstored[identifier]?.record ?? SessionDirectory.open(identifier, in: data).record()
        if record.results == results { return }
        throw RequestError(
            .finished, "session \(identifier) is over, and its results came too late to be kept with it")
    }

    /// Ends every session, each with what was taken so far, for the program is about to end: nobody waits for
    /// publishers longer than `lastWait`.
    func stopAll() async {
        lastCall = MonotonicClock.now + Self.lastWait.nanoseconds
        let identifiers = Array(sessions.keys)
        await withDiscardingTaskGroup { group in
            for identifier in identifiers { group.addTask { await self.stop(identifier) } }
        }
    }

    /// Ends a session in good order, or with what is there if it failed.
    func stop(_ identifier: SessionIdentifier) async {
        guard let session = sessions[identifier] else { return }
        guard session.beginStopping() else {
            // Somebody else is at it: wait for the end.
            while sessions[identifier] === session {
                guard (try? await thread.sleep(until: MonotonicClock.now + 10_000_000)) != nil else { return }
            }
            return
        }
        rise(session, to: .waitingToStop)
        if session.status == .waitingToStop { await settle(session) }
        await close(session)
    }

    /// Waits until every sample taken before the stop has arrived, or was given up.
    private func settle(_ session: Session) async {
        // Of a program that ends nobody waits long.
        let timeout = lastCall == nil ? Self.listTimeout : .seconds(1)
        for description in await publishers.streams(at: session.publishers, timeout: timeout)
        where session.status == .waitingToStop && session.wants(description.name) {
            if session.streams[description.name]?.isLater(description) == true { continue }
            guard let stream = stream(for: description, from: nil, in: session) else { continue }
            stream.end(description)
        }
        let streams = session.order.compactMap { session.streams[$0] }
        // What is under way first; what has not come by then is asked for.
        await wait(for: session, atMost: Self.travelTime) {
            streams.allSatisfy { $0.isEndKnown && $0.intake.isComplete }
        }
        // As long as something comes: a recorder that hung may have much to catch up with.
        var settled = -1
        let limit = MonotonicClock.now + Self.settlingLimit.nanoseconds
        while settled < streams.reduce(0, { $0 + $1.received + $1.lost }), !streams.allSatisfy(\.intake.isComplete),
            MonotonicClock.now < limit
        {
            settled = streams.reduce(0) { $0 + $1.received + $1.lost }
            await wait(for: session, atMost: settings.recoveryLimit) {
                for stream in streams where stream.intake.expectEnd() { recover(stream, of: session) }
                return streams.allSatisfy(\.intake.isComplete)
            }
        }
        if lastCall == nil, session.status == .waitingToStop, streams.contains(where: \.isEndKnown) {
            await compareClocks(of: session, isLast: true)
        }
        for pattern in session.record.streams where !session.hasMet(pattern) {
            session.note(failure: "there was no stream '\(pattern)' while the session ran")
        }
    }

    private func wait(for session: Session, atMost limit: TimeSpan, until isOver: () -> Bool) async {
        let deadline = MonotonicClock.now + limit.nanoseconds
        while session.status == .waitingToStop, !isOver(), MonotonicClock.now < min(deadline, lastCall ?? .max) {
            guard (try? await thread.sleep(until: MonotonicClock.now + 2_000_000)) != nil else { return }
        }
    }

    /// Finishes a session's files, writes its report and forgets it.
    func close(_ session: Session) async {
        rise(session, to: .processingResults)
        routes = []
        let end = WallTime.now
        let streams = session.order.compactMap { session.streams[$0] }
        for stream in streams {
            release(stream, of: session)
            stream.noteUnknownEnds(timeline: session.timeline)
        }
        if session.status == .failed { try? endReserve.release() }
        for stream in streams {
            attempt(session) { try stream.close(at: end, timeline: session.timeline) }
            announceGaps(of: stream, in: session)
        }
        await commit([session], isLast: true)
        // What failed may work now: room was made for it.
        if session.isWaitingForFiles { await commit([session], isLast: true) }
        var isFinished = false
        do {
            isFinished = try session.finish(.finished, at: end)
            announce(session.takeFinished(), of: session)
        } catch {
            fail(session, error)
            // The first attempt may be what failed.
            do {
                _ = try session.finish(.failed, at: end)
                announce(session.takeFinished(), of: session)
            } catch {
                keep(session, error)
            }
        }
        if session.isWaitingForFiles, unstored.count < Self.maximumUnstored {
            unstored[session.identifier] = session
        }
        if isFinished { publish(.status, of: session) }
        let report = session.report
        publish(.report, of: session, report: report)
        if !report.isWhole { loss.raise() }
        endedTotals.add(report)
        endedSessions[session.status, default: 0] += 1
        sessions[session.identifier] = nil
        await commits.forget(session.identifier)
        await unsubscribe(from: Set(session.record.streams))
        logger.notice(
            "recording ended",
            metadata: ["session": "\(session.identifier)", "status": "\(session.status)", "whole": "\(report.isWhole)"])
    }

    /// Keeps a session whose end could not be stored, so that it is answered for until it can.
    private func keep(_ session: Session, _ error: any Error) {
        logger.error(
            "the end of a recording could not be stored",
            metadata: ["session": "\(session.identifier)", LogKey.error: "\(error)"])
        guard unstored.count < Self.maximumUnstored else { return }
        unstored[session.identifier] = session
    }

    /// Tries again to store the ends of sessions.
    func storeAgain() async {
        for session in Array(unstored.values) where session.directory.directory.isThere {
            for name in session.order {
                try? session.streams[name]?.close(at: session.record.endDate ?? .now, timeline: session.timeline)
            }
            await commit([session], isLast: true)
            await commits.forget(session.identifier)
            guard (try? session.finish(.failed, at: .now)) != nil else { continue }
            announce(session.takeFinished(), of: session)
            if session.isWaitingForFiles { continue }
            unstored[session.identifier] = nil
            logger.notice("the end of a recording was stored", metadata: ["session": "\(session.identifier)"])
        }
    }

    /// Gives up what a stream waits for, and writes what waits behind that. What finds no room is a gap.
    private func release(_ stream: StreamRecording, of session: Session) {
        while true {
            do {
                _ = try stream.resume(timeline: session.timeline)
                while stream.intake.recovery != nil || stream.intake.expectEnd() {
                    try stream.giveUp(.publisherUnreachable, timeline: session.timeline)
                }
                return
            } catch {
                // Each turn takes some of what waits, so this ends.
                fail(session, error)
                stream.abandon(timeline: session.timeline)
            }
        }
    }

    /// Lets a session's status rise, and tells everybody.
    private func rise(_ session: Session, to status: SessionStatus) {
        attempt(session) { if try session.rise(to: status) { publish(.status, of: session) } }
    }

    /// Does something that may fail a session but must not keep it from its end.
    private func attempt(_ session: Session, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            fail(session, error)
        }
    }
}
