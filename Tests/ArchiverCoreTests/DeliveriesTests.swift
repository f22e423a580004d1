import ArchiveStorage
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import TestSupport
import Testing

@testable import ArchiverCore
@testable import Upload

/// Sessions from their end to their receipt, in virtual time.
@Suite(.timeLimit(.minutes(1))) struct DeliveriesTests {
    /// Runs a world with faults for two hours, and then without.
    private func run(seed: UInt64, isTraced: Bool = false) throws -> ArchiverWorld {
        var random = SplitMix(seed: seed)
        let world = try ArchiverWorld(ArchiverWorld.Plan(using: &random), seed: random.next())
        world.isTraced = isTraced
        world.begin()
        world.run(seconds: 7200)
        world.isFaulty = false
        world.run(seconds: 60)
        world.askForTheRest()
        // The longest pause is an hour, and a clock may have been set back by almost three hours.
        world.run(seconds: 30_000)
        return world
    }

    /// To repeat one seed, set `HOLDFAST_TEST_SEED=7`.
    @Test func everySessionIsDeliveredOnceWhateverFails() throws {
        let given = ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap { UInt64($0) }
        for seed in given.map({ $0...$0 }) ?? 1...60 {
            let world = try run(seed: seed)
            #expect(world.violations.isEmpty, "HOLDFAST_TEST_SEED=\(seed) \(world.plan)")
            if world.violations.isEmpty {
                #expect(world.remaining().isEmpty, "HOLDFAST_TEST_SEED=\(seed) \(world.plan)")
            }
        }
    }

    @Test func aSeedRepeatsEverything() throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            let traces = try (0..<2).map { _ in try run(seed: seed, isTraced: true).trace }
            #expect(traces[0] == traces[1], "HOLDFAST_TEST_SEED=\(seed)")
        }
    }

    /// A world with no faults except those that a test makes.
    private func world(sessions: Int) throws -> ArchiverWorld {
        var plan = ArchiverWorld.Plan()
        plan.sessions = sessions
        return try ArchiverWorld(plan, seed: 1)
    }

    @Test func oneThatFailsDoesNotKeepTheOthers() throws {
        let world = try world(sessions: 12)
        let bad = world.sessions[0]
        world.receive = { $0 == bad ? ArchiverWorld.error(.later) : nil }
        world.begin()
        world.run(seconds: 5400)
        #expect(world.violations.isEmpty)
        #expect(world.receipts.count == 11)
        #expect(world.receipts[bad] == nil)
        #expect(world.remaining() == ["s0 was not delivered"])
    }

    @Test func anUploadIsTriedEightTimesInARowAndThenAfterLongerPauses() throws {
        let world = try world(sessions: 1)
        world.receive = { _ in ArchiverWorld.error(.later) }
        world.begin()
        world.run(seconds: 86_400)
        #expect(world.violations.isEmpty)
        let times = world.tries.map(\.time)
        // In a day: series of eight tries within about two minutes, with pauses of up to an hour between series.
        #expect((80...240).contains(times.count), "\(times.count) tries")
        let pauses = zip(times.dropFirst(), times).map { ($0 - $1) / 1_000_000_000 }
        #expect(pauses.contains { $0 >= 3600 })
        #expect(pauses.allSatisfy { $0 <= 3600 + 600 })
    }

    private static func refusal(_ code: UploadError.Code) -> UploadError {
        UploadError(code, at: "out", "it refused", advice: "Repair it.", retry: .never)
    }

    /// After an expired key or a read-only share is repaired, no session may need a request of its own.
    @Test(arguments: [UploadError.Code.notPermitted, .notFound])
    func whatARepairedReceiverRefusedIsUploadedWithoutARequest(code: UploadError.Code) throws {
        let world = try world(sessions: 1)
        world.receive = { _ in Self.refusal(code) }
        world.begin()
        world.run(seconds: 30_000)
        // One try per turn, after pauses of up to an hour.
        #expect((8...16).contains(world.tries.count), "\(world.tries.count) tries")
        world.receive = { _ in nil }
        world.run(seconds: 8000)
        #expect(world.violations.isEmpty)
        #expect(world.receipts.count == 1)
        #expect(world.remaining().isEmpty)
    }

    @Test(arguments: [UploadError.Code.different, .redirected, .tooLarge])
    func whatNoTimeCanRepairWaitsForARequest(code: UploadError.Code) throws {
        let world = try world(sessions: 1)
        world.receive = { _ in Self.refusal(code) }
        world.begin()
        world.run(seconds: 30_000)
        #expect(world.tries.count == 1)
        #expect(world.violations.isEmpty)
    }

    @Test func aRemovalThatIsRefusedIsAskedForAgainAfterLongerPauses() throws {
        var plan = ArchiverWorld.Plan()
        plan.sessions = 1
        plan.policy.keepRecordings = .time(.seconds(0))
        plan.policy.keepArchives = .time(.seconds(7200))
        let world = try ArchiverWorld(plan, seed: 1)
        world.refusesRemovals = true
        world.begin()
        world.run(seconds: 30_000)
        #expect(world.receipts.values.first?.marked != nil)
        #expect(world.receipts.values.first?.removed == nil)
        let pauses = zip(world.removalRequests.dropFirst(), world.removalRequests).map { ($0 - $1) / 1_000_000_000 }
        #expect(pauses.count >= 8, "\(pauses)")
        #expect(pauses.first.map { $0 < 120 } == true, "\(pauses)")
        #expect(pauses.last.map { $0 >= 3600 } == true, "\(pauses)")
        #expect(pauses.allSatisfy { $0 < 3700 }, "\(pauses)")
        let session = world.sessions[0]
        let status = try #require(world.status(of: session))
        #expect(status.state == .marked)
        #expect(status.reason?.contains("did not remove 2 files") == true)
        // The archive is removed although the files could not be.
        #expect(!world.view(of: session).archiveExists)
        world.refusesRemovals = false
        world.run(seconds: 4000)
        #expect(world.receipts.values.first?.removed != nil)
        #expect(world.violations.isEmpty)
        #expect(world.remaining().isEmpty)
        #expect(world.status(of: session)?.reason == nil)
    }

    @Test func aReceiverThatIsAwayIsNotAskedByAllAtOnce() throws {
        let world = try world(sessions: 200)
        world.receive = { _ in ArchiverWorld.error(.later) }
        world.begin()
        world.run(seconds: 1900)
        let before = world.tries.count
        world.run(seconds: 60)
        // At most four sessions are between their tries.
        let latest = Set(world.tries[before...].map(\.session))
        #expect(latest.count <= 8, "\(latest.count) sessions")
        // A session that is requested explicitly still comes first.
        let asked = world.sessions[199]
        world.askForTheRest([asked])
        world.run(seconds: 900)
        #expect(world.tries.contains { $0.session == asked })
        world.receive = { _ in nil }
        world.run(seconds: 20_000)
        #expect(world.violations.isEmpty)
        #expect(world.remaining().isEmpty)
    }

    /// What an archiver looks at, claims or makes next.
    private static func nextWork(of core: Deliveries) -> [String] {
        core.takeEffects().compactMap { effect -> String? in
            switch effect {
            case .scan: "scan"
            case .look(let session): "look at \(session)"
            case .claim(let session): "claim \(session)"
            case .make(let session): "make \(session)"
            default: nil
            }
        }
    }

    /// A session is removed while its copies wait for their time, and the end of another one of its name is missed.
    @Test func aSessionThatWaitsForAPointInTimeIsLookedAtAgain() throws {
        let session = try SessionIdentifier("s")
        let core = Deliveries(
            Deliveries.Settings(
                policy: ArchivePolicy(uploads: true, keepRecordings: .time(.seconds(1_000_000))),
                retries: RetryPolicy(), uploads: 1, rescanInterval: 300_000_000_000, logManager: "log-manager"))
        let start = Moment.after(0)
        var record = ArchiveRecord(session, made: [], logs: [], date: start.date)
        record.files = [ArchiveRecord.File(name: "a", bytes: 1, sha256: "", archive: "s.zip")]
        var receipt = ArchiveReceipt(record, [])
        receipt.marked = start.date
        core.begin(at: start)
        core.scanned(.success([session]), at: start)
        core.looked(session, .success(SessionView(exists: true, isOver: true, receipt: receipt)), at: start)
        #expect(Self.nextWork(of: core) == ["scan", "look at s"])
        let later = Moment.after(3600)
        core.wake(at: later)
        core.scanned(.success([session]), at: later)
        #expect(Self.nextWork(of: core) == ["scan", "look at s"])
        core.looked(session, .success(SessionView(exists: true, isOver: true)), at: later)
        #expect(Self.nextWork(of: core) == ["claim s"])
    }

    /// The discard comes while the archive is being made, or after that failed; then its event may be missed.
    @Test(arguments: ["making", "failed", "unheard"])
    func theFailureOfADiscardedSessionDoesNotKeepALaterOneOfItsName(discarded: String) throws {
        let session = try SessionIdentifier("s")
        let finished = SessionView(exists: true, isOver: true)
        let now = Moment.after(0)
        let core = Deliveries(
            Deliveries.Settings(
                policy: ArchivePolicy(), retries: RetryPolicy(), uploads: 1, rescanInterval: 300_000_000_000,
                logManager: "log-manager"))
        core.begin(at: now)
        core.scanned(.success([session]), at: now)
        core.looked(session, .success(finished), at: now)
        core.claimed(session, .success(finished), at: now)
        #expect(Self.nextWork(of: core) == ["scan", "look at s", "claim s", "make s"])
        if discarded == "making" {
            core.ended(session, at: now)
            core.looked(session, .success(SessionView()), at: now)
        }
        core.made(
            session, .failure(ArchiveFailure(code: "notFound", reason: "It is gone.", retry: .never)), at: now)
        #expect(core.failedSessions(isRefusal: false) == 1)
        switch discarded {
        case "failed": core.ended(session, at: now)
        case "unheard":
            core.scan(at: now)
            core.scanned(.success([]), at: now)
        default: break
        }
        #expect(Self.nextWork(of: core).last == "look at s")
        core.looked(session, .success(SessionView()), at: now)
        #expect(core.failedSessions(isRefusal: false) == 0)
        // Another session gets the name.
        core.ended(session, at: now)
        core.looked(session, .success(finished), at: now)
        #expect(Self.nextWork(of: core) == ["look at s", "claim s"])
    }
}
