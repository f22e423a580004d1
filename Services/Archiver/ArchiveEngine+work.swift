import Upload
import Encryption
import Files
import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// Who does what when.
extension ArchiveEngine {
    /// How often is looked whether the time of something has come.
    private static let tick = TimeSpan.milliseconds(200)
    /// How long a session is left to another archiver before it is looked at again.
    private static let claimPause = Duration.seconds(2)
    /// Works on sessions, until the task is cancelled.
    func work() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in ArchiveLane.allCases {
                for _ in 0..<(lane == .uploading ? settings.uploads.count : 1) {
                    group.addTask { try await self.work(in: lane) }
                }
            }
            group.addTask { try await self.watchTime() }
            try await group.waitForAll()
        }
    }

    private func watchTime() async throws {
        while true {
            try await thread.sleep(until: MonotonicClock.now + Self.tick.nanoseconds)
            if queue.isDue(at: MonotonicClock.now) { wake() }
        }
    }

    private func work(in lane: ArchiveLane) async throws {
        while true {
            try Task.checkCancellation()
            guard let session = queue.take(lane, at: MonotonicClock.now) else {
                try await waitForWork()
                continue
            }
            await work(on: session, in: lane)
            wake()
        }
    }

    private func work(on session: SessionIdentifier, in lane: ArchiveLane) async {
        do {
            guard let next = try await takeStep(of: session, in: lane) else {
                queue.postpone(session, by: Self.claimPause, at: MonotonicClock.now)
                return
            }
            let place = Self.place(of: next)
            queue.finish(session, next: place?.lane, after: place?.delay ?? .zero, at: MonotonicClock.now)
        } catch {
            // Who is cancelled has not failed.
            if Task.isCancelled { return queue.postpone(session, by: .zero, at: MonotonicClock.now) }
            fail(session, Self.failure(error))
        }
        reportFailures()
    }

    /// Does what is next for a session, if it belongs into this lane.
    /// - Returns: what is next after that; `nil` where another archiver has the session.
    private func takeStep(of session: SessionIdentifier, in lane: ArchiveLane) async throws -> ArchiveStep? {
        guard let claim = try folder.claim(session) else { return nil }
        // Another archiver may have done it since somebody looked.
        let view = try folder.view(of: session)
        let step = settings.policy.step(for: view, at: .now)
        guard step.lane == lane else { return step }
        switch (step, view.record, view.receipt) {
        case (.make, _, _): try await make(session)
        case (.upload, let record?, _): try await upload(record)
        case (.refuse(let name), _, _): throw Self.unencrypted(name)
        case (.mark, _, let receipt?): try await mark(receipt)
        case (.removeRecordings, _, let receipt?): try await removeRecordings(of: receipt)
        case (.removeArchives, _, let receipt?): try removeArchives(of: receipt)
        default: break
        }
        let next = settings.policy.step(for: try folder.view(of: session), at: .now)
        withExtendedLifetime(claim) {}
        return next
    }

    // MARK: Failures

    private func fail(_ session: SessionIdentifier, _ failure: ArchiveFailure) {
        if failure.isRefusal { totals.refusals += 1 } else { totals.failures += 1 }
        let isAway = failure.code == ArchiveFailure.logManagerAway
        let isNews = queue.failure(of: session) != failure
        queue.fail(session, failure, isCounted: !isAway, at: MonotonicClock.now)
        // Not again and again for each session as long as log-manager is away.
        guard isNews || !isAway else { return }
        logger.error(
            failure.isRefusal ? "an archive was not delivered" : "no archive was made",
            metadata: ["session": "\(session)", "code": "\(failure.code)", LogKey.error: "\(failure.reason)"])
        publish(failure.isRefusal ? .refused : .failed, of: session, failure: failure)
    }

    private static func failure(_ error: any Error) -> ArchiveFailure {
        switch error {
        case let failure as ArchiveFailure: failure
        case let error as ArchiveError: ArchiveFailure(error)
        case let error as UploadError: ArchiveFailure(error)
        case let error as RecordingError: ArchiveFailure(error)
        default:
            ArchiveFailure(code: "inputOutput", reason: "\(error)", retry: .backingOff, isRefusal: true)
        }
    }

    private static func unencrypted(_ name: String) -> ArchiveFailure {
        ArchiveFailure(
            code: "notEncrypted",
            reason:
                "\(ArchiveDirectory.path(of: name)) is from before a certificate was configured, and is not uploaded for "
                + "it is not encrypted. Remove it, and an encrypted one is made; or start the archiver without certificates.",
            retry: .never, isRefusal: true)
    }
}
