import Recording
import Testing

@testable import Archiver

@Suite(.timeLimit(.minutes(1)))
struct ArchiveQueueTests {
    private let sessions: [SessionIdentifier]

    init() throws {
        sessions = try ["a", "b", "c"].map { try SessionIdentifier($0) }
    }

    private static let later = ArchiveFailure(code: "busy", reason: "Later.", retry: .backingOff)

    @Test func whoCameFirstIsServedFirstUnlessSomebodyHurries() {
        var queue = ArchiveQueue()
        for session in sessions { queue.note(session, .making, at: 0) }
        queue.hurry(sessions[2], .making)
        #expect(queue.take(.uploading, at: 0) == nil)
        #expect((0..<4).map { _ in queue.take(.making, at: 0) } == [sessions[2], sessions[0], sessions[1], nil])
        #expect(queue.lane(of: sessions[0]) == .making)
    }

    @Test func whatIsDoneGoesOnInItsNextLane() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], .making, at: 0)
        #expect(queue.take(.making, at: 0) == sessions[0])
        queue.finish(sessions[0], next: .uploading, at: 0)
        #expect(queue.take(.making, at: 0) == nil)
        #expect(queue.take(.uploading, at: 0) == sessions[0])
        queue.finish(sessions[0], next: nil, at: 0)
        #expect(!queue.contains(sessions[0]))
    }

    @Test func eachFailureInARowIsWaitedForLonger() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], .making, at: 0)
        var now: Int64 = 0
        var waits: [Int64] = []
        for _ in 0..<8 {
            #expect(queue.take(.making, at: now) == sessions[0])
            queue.fail(sessions[0], Self.later, at: now)
            let start = now
            while !queue.isDue(at: now) { now += 1_000_000_000 }
            waits.append((now - start) / 1_000_000_000)
        }
        #expect(waits == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        // Found again by a scan, it has no earlier turn.
        queue.note(sessions[0], .making, at: now)
        #expect(queue.failure(of: sessions[0]) == Self.later)
        #expect(queue.failures(of: sessions[0]) == 8)
    }

    @Test func whatNeverGoesByItselfWaitsForSomebodyToAsk() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], .uploading, at: 0)
        _ = queue.take(.uploading, at: 0)
        queue.fail(sessions[0], ArchiveFailure(code: "different", reason: "Look.", retry: .never), at: 0)
        queue.note(sessions[0], .uploading, at: 0)
        #expect(!queue.isDue(at: .max - 1))
        queue.hurry(sessions[0], .uploading)
        #expect(queue.take(.uploading, at: 0) == sessions[0])
        #expect(queue.failed.map(\.session) == [sessions[0]])
        queue.finish(sessions[0], next: .settling, at: 0)
        #expect(queue.failed.isEmpty)
    }

    @Test func aReceiverThatSaysWhenIsBelieved() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], .uploading, at: 0)
        _ = queue.take(.uploading, at: 0)
        queue.fail(sessions[0], ArchiveFailure(code: "busy", reason: "Later.", retry: .after(.seconds(7))), at: 0)
        #expect(!queue.isDue(at: 6_999_999_999))
        #expect(queue.isDue(at: 7_000_000_000))
    }

    @Test func whatSomebodyElseHasIsLookedAtAgain() {
        var queue = ArchiveQueue()
        queue.note(sessions[0], .making, at: 0)
        _ = queue.take(.making, at: 0)
        queue.postpone(sessions[0], by: .seconds(2), at: 0)
        #expect(queue.take(.making, at: 1) == nil)
        #expect(queue.take(.making, at: 2_000_000_000) == sessions[0])
        #expect(queue.failed.isEmpty)
    }
}
