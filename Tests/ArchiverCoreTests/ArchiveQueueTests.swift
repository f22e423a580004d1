import Messages
import Recording
import Testing

@testable import ArchiverCore

@Suite(.timeLimit(.minutes(1)))
struct ArchiveQueueTests {
    private let sessions: [SessionIdentifier]

    init() throws {
        sessions = try ["a", "b", "c"].map { try SessionIdentifier($0) }
    }

    private static let later = ArchiveFailure(code: "busy", reason: "Later.", retry: .backingOff)

    @Test func whoCameFirstIsServedFirstUnlessSomebodyHurries() {
        var queue = ArchiveQueue()
        for session in sessions { queue.note(session, ArchiveStep.Place(lane: .making)) }
        queue.hurry(sessions[2], .making)
        #expect(queue.take(.uploading, at: .after(0)) == nil)
        #expect(
            (0..<4).map { _ in queue.take(.making, at: .after(0)) } == [sessions[2], sessions[0], sessions[1], nil])
        #expect(queue.lane(of: sessions[0]) == .making)
    }

    @Test func whatIsDoneGoesOnInItsNextLane() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], ArchiveStep.Place(lane: .making))
        #expect(queue.take(.making, at: .after(0)) == sessions[0])
        queue.finish(sessions[0], next: ArchiveStep.Place(lane: .uploading))
        #expect(queue.take(.making, at: .after(0)) == nil)
        #expect(queue.take(.uploading, at: .after(0)) == sessions[0])
        queue.finish(sessions[0], next: nil)
        #expect(!queue.contains(sessions[0]))
    }

    @Test func eachFailureInARowIsWaitedForLonger() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], ArchiveStep.Place(lane: .making))
        var now = Moment.after(0)
        var waits: [Int64] = []
        for _ in 0..<8 {
            #expect(queue.take(.making, at: now) == sessions[0])
            queue.fail(sessions[0], Self.later, at: now)
            let next = queue.nextDue(after: now) ?? 0
            waits.append((next - now.monotonic) / 1_000_000_000)
            now.monotonic = next
        }
        #expect(waits == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        // The queue forgot its earlier turn when a scan found the session again.
        queue.note(sessions[0], ArchiveStep.Place(lane: .making))
        #expect(queue.failure(of: sessions[0]) == Self.later)
        #expect(queue.failures(of: sessions[0]) == 8)
    }

    @Test func theOthersAreServedBeforeOneThatFailed() {
        var queue = ArchiveQueue()
        for session in sessions { queue.note(session, ArchiveStep.Place(lane: .making)) }
        #expect(queue.take(.making, at: .after(0)) == sessions[0])
        queue.fail(sessions[0], Self.later, at: .after(0))
        #expect((0..<3).map { _ in queue.take(.making, at: .after(60)) } == [sessions[1], sessions[2], sessions[0]])
    }

    @Test func whatNeverGoesByItselfWaitsForSomebodyToAsk() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], ArchiveStep.Place(lane: .uploading))
        _ = queue.take(.uploading, at: .after(0))
        let failure = ArchiveFailure(code: "different", reason: "Look.", retry: .never, isRefusal: true)
        queue.fail(sessions[0], failure, at: .after(0))
        queue.note(sessions[0], ArchiveStep.Place(lane: .uploading))
        #expect(queue.take(.uploading, at: Moment(monotonic: .max, date: .now)) == nil)
        #expect(queue.nextDue(after: .after(0)) == nil)
        queue.hurry(sessions[0], .uploading)
        #expect(queue.take(.uploading, at: .after(0)) == sessions[0])
        #expect(queue.failed(isRefusal: true)?.first == sessions[0])
        queue.finish(sessions[0], next: ArchiveStep.Place(lane: .settling))
        #expect(queue.failed(isRefusal: true) == nil)
    }

    @Test func aReceiverThatSaysWhenIsBelieved() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], ArchiveStep.Place(lane: .uploading))
        _ = queue.take(.uploading, at: .after(0))
        let failure = ArchiveFailure(code: "busy", reason: "Later.", retry: .after(.seconds(7)))
        queue.fail(sessions[0], failure, at: .after(0))
        #expect(queue.nextDue(after: .after(0)) == 7_000_000_000)
        #expect(queue.take(.uploading, at: .after(6)) == nil)
        #expect(queue.take(.uploading, at: .after(7)) == sessions[0])
    }

    @Test func whatSomebodyElseHasIsLookedAtAgain() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], ArchiveStep.Place(lane: .making))
        _ = queue.take(.making, at: .after(0))
        queue.postpone(sessions[0], by: .seconds(2), at: .after(0))
        #expect(queue.take(.making, at: .after(1)) == nil)
        #expect(queue.take(.making, at: .after(2)) == sessions[0])
        #expect(queue.failed(isRefusal: false) == nil)
    }

    /// After sleep or a clock change, the queue must not wait for the monotonic clock, which stood still.
    @Test func aDateIsTheWallClocks() {
        var queue = ArchiveQueue()
        let date = Moment.after(100).date
        queue.note(sessions[0], ArchiveStep.Place(lane: .settling, date: date))
        #expect(queue.nextDue(after: .after(0)) == 100_000_000_000)
        #expect(queue.take(.settling, at: .after(99)) == nil)
        #expect(queue.take(.settling, at: Moment(monotonic: 1, date: date)) == sessions[0])
    }
}

extension Moment {
    /// A moment this many seconds after both clocks began.
    static func after(_ seconds: Int64) -> Moment {
        Moment(
            monotonic: seconds * 1_000_000_000,
            date: WallTime(nanosecondsSince1970: (1_795_219_200 + seconds) * 1_000_000_000))
    }
}
