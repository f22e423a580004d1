import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What becomes durable: group commits at a fixed rhythm.
extension RecordingEngine {
    /// How often the room on the disk is looked at.
    private static let diskInterval = TimeSpan.seconds(1)
    /// How often what could not be stored is tried again.
    private static let storeInterval = TimeSpan.seconds(5)

    /// Commits what was written, at each tick of the sync interval, until the task is cancelled.
    func commitRegularly() async throws {
        let interval = settings.syncInterval.nanoseconds
        var tick = MonotonicClock.now
        while true {
            // From tick to tick, not from one commit's end to the next one's start, so that a slow disk does not stretch
            // the rhythm; where a commit takes longer than that, the next one follows at once.
            tick = max(tick + interval, MonotonicClock.now)
            try await thread.sleep(until: tick)
            for session in sessions.values {
                if let deadline = session.deadline, MonotonicClock.now >= deadline, session.status == .running {
                    ordering.yield(.stop(session: session.identifier))
                }
                if session.isRecording { goOnInNewFiles(session) }
            }
            await commit(sessions.values.filter(\.isRecording))
            if MonotonicClock.now >= lookedAtDisk + Self.diskInterval.nanoseconds {
                lookAtDisk()
                await goOnWithTheRest()
            }
            if MonotonicClock.now >= storedAgain + Self.storeInterval.nanoseconds {
                storedAgain = MonotonicClock.now
                await storeAgain()
            }
        }
    }

    /// Begins new files where the present ones are old enough: also where nothing arrives.
    private func goOnInNewFiles(_ session: Session) {
        do {
            for name in session.order { try session.streams[name]?.log.goOnIfOld() }
        } catch {
            fail(session, error)
        }
    }

    /// Makes everything that sessions wrote so far durable.
    /// - Parameter isLast: with all that they know; return only when commits that began earlier are over too.
    func commit(_ sessions: [Session], isLast: Bool = false) async {
        var committed: [(session: Session, published: [Int64], finished: [Session.Finished])] = []
        var works: [GroupCommit.Work] = []
        for session in sessions {
            do {
                let work = try session.work(isLast: isLast)
                if !isLast, work.record == nil, work.points.isEmpty, work.sealed.isEmpty { continue }
                works.append(work)
                let finished = work.record == nil ? [] : session.takeFinished()
                committed.append((session, session.takeUncommitted(), finished))
            } catch {
                session.keepSealed()
                fail(session, error)
            }
        }
        if works.isEmpty { return }
        let began = MonotonicClock.now
        let outcomes = await commits.commit(works)
        commitTimes.record(nanoseconds: MonotonicClock.now - began)
        let now = WallTime.now.nanosecondsSince1970
        for ((session, published, finished), outcome) in zip(committed, outcomes) {
            session.add(outcome.finished)
            if let failure = outcome.failure {
                session.keepSealed()
                session.keep(finished)
                fail(session, failure)
                continue
            }
            announce(finished, of: session)
            for time in published {
                session.latencies.record(nanoseconds: now - time)
                latencies.record(nanoseconds: now - time)
            }
        }
        guard outcomes.contains(where: { $0.failure == nil }) else { return }
        health.measure("commitLatencyMedianSeconds", Double(latencies.median) / 1e9)
        health.measure("commitLatency99PercentSeconds", Double(latencies.percentile99) / 1e9)
    }

    /// Publishes that log files are finished. Not before `session.json` lists them: whoever hears of a file may remove it.
    func announce(_ finished: [Session.Finished], of session: Session) {
        for (log, index, file) in finished {
            publish(
                SegmentFinished(
                    source: Self.source, sequence: index, session: session.identifier.text, log: log.text,
                    path: session.directory.relativePath(of: file.name), bytes: file.bytes, samples: file.samples,
                    sha256: file.sha256))
        }
    }

    /// Looks how much room there is, ends sessions before there is none, and stores what found none before.
    func lookAtDisk() {
        lookedAtDisk = MonotonicClock.now
        freeBytes = try? Directory(data).freeBytes()
        if let freeBytes, freeBytes < settings.minimumFree {
            for session in sessions.values where session.status == .running {
                session.note(failure: "stopped: \(tooLittleRoom(freeBytes))")
                health.report(.degraded, "sessions were stopped: \(tooLittleRoom(freeBytes))", for: "disk")
                logger.error(
                    "recording stops",
                    metadata: ["session": "\(session.identifier)", LogKey.error: "\(tooLittleRoom(freeBytes))"])
                ordering.yield(.stop(session: session.identifier))
            }
        } else {
            health.clear("disk")
        }
        if sessions.isEmpty, unstored.isEmpty { restoreReserves() }
    }

    /// Why nothing is recorded any more.
    func tooLittleRoom(_ freeBytes: Int) -> String {
        "the disk has \(ByteCount(bytes: freeBytes)) free, less than --minimum-free "
            + "\(ByteCount(bytes: settings.minimumFree)) leaves; free some space and start a new recording"
    }
}
