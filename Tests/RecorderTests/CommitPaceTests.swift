import RecorderCore
import Testing

/// When the recorder commits, and when it makes files durable. Pure: the test supplies the time.
struct CommitPaceTests {
    private static let millisecond: Int64 = 1_000_000
    private static let second: Int64 = 1_000_000_000

    @Test func aCommitWaitsForTheRestOfABurst() {
        let pace = CommitPace(interval: 100 * Self.millisecond)
        #expect(pace.next(after: 50) == 50 + 2 * Self.millisecond)
    }

    /// After a sync of 5 ms, the next one starts no earlier than 20 ms after its beginning; after one of 60 ms, at the next
    /// interval.
    @Test(arguments: [(1, 8), (5, 20), (20, 80), (60, 100), (500, 100)] as [(Int64, Int64)])
    func aSlowDiskIsLeftAlone(sync: Int64, next: Int64) {
        var pace = CommitPace(interval: 100 * Self.millisecond)
        pace.note(began: 0, ended: sync * Self.millisecond)
        #expect(pace.next(after: Self.millisecond) == next * Self.millisecond)
    }

    /// At 100 samples a second, each sample is committed as soon as the burst to which it may belong is over.
    @Test func commitsDoNotKeepPaceWithSamples() {
        var pace = CommitPace(interval: 100 * Self.millisecond)
        var commit: Int64 = 9 * Self.millisecond
        for sample in stride(from: 0, to: 10, by: 1) {
            let time = Int64(sample) * 10 * Self.millisecond
            commit = max(commit, pace.next(after: time))
            pace.note(began: commit, ended: commit + Self.millisecond)
        }
        #expect(commit == 92 * Self.millisecond)
    }

    /// No sample waits longer than the interval, however slow the disk is.
    @Test func nothingWaitsLongerThanTheInterval() {
        var pace = CommitPace(interval: 100 * Self.millisecond)
        pace.note(began: 0, ended: 10 * Self.second)
        let time = 10 * Self.second
        #expect(pace.next(after: time) - time <= 100 * Self.millisecond)
    }

    @Test func filesAreDurableAfterTenSeconds() {
        #expect(!CheckpointPace.isDue(age: 10 * Self.second - 1, pause: 0, bytes: 0, streams: 1, held: 0))
        #expect(CheckpointPace.isDue(age: 10 * Self.second, pause: 0, bytes: 0, streams: 1, held: 0))
    }

    @Test func filesOfAResumedSessionAreDurableAfterFiveSeconds() {
        for (isResumed, seconds) in [(true, 5), (false, 10)] {
            let age = Int64(seconds) * Self.second - CheckpointPace.start(at: 0, isResumed: isResumed)
            #expect(CheckpointPace.isDue(age: age, pause: 0, bytes: 0, streams: 1, held: 0))
            #expect(!CheckpointPace.isDue(age: age - 1, pause: 0, bytes: 0, streams: 1, held: 0))
        }
    }

    @Test func aSessionThatTakesLongToStoreIsStoredLessOften() {
        let pause = 40 * Self.second
        #expect(!CheckpointPace.isDue(age: pause - 1, pause: pause, bytes: 0, streams: 1, held: 0))
        #expect(CheckpointPace.isDue(age: pause, pause: pause, bytes: 0, streams: 1, held: 0))
    }

    /// Limits how much a single fast stream leaves to recover, without constant syncs for a thousand slow streams.
    @Test func manyBytesMakeFilesDurableSooner() {
        #expect(!CheckpointPace.isDue(age: 0, pause: 0, bytes: 64 << 20 - 1, streams: 10, held: 0))
        #expect(CheckpointPace.isDue(age: 0, pause: 0, bytes: 64 << 20, streams: 10, held: 0))
        #expect(!CheckpointPace.isDue(age: 0, pause: 0, bytes: 999 << 20, streams: 1_000, held: 0))
        #expect(CheckpointPace.isDue(age: 0, pause: 0, bytes: 1_000 << 20, streams: 1_000, held: 0))
    }

    /// Each checkpoint writes waiting samples again; that must not trigger the next checkpoint.
    @Test func whatWaitsMakesCheckpointsRarer() {
        #expect(!CheckpointPace.isDue(age: 0, pause: 0, bytes: 319 << 20, streams: 1, held: 64 << 20))
        #expect(CheckpointPace.isDue(age: 0, pause: 0, bytes: 320 << 20, streams: 1, held: 64 << 20))
    }
}
