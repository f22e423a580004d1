import PublisherCore
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamScheduleTests {
    @Test func withoutEntriesNothingIsDue() {
        var schedule = StreamSchedule()
        var due: [StreamSchedule.Entry] = []
        #expect(schedule.next == nil)
        schedule.takeDue(at: .max, into: &due)
        #expect(due.isEmpty)
    }

    @Test(arguments: 1...20) func entriesComeWhenTheyAreDueAndInOrder(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var schedule = StreamSchedule()
        var waiting: [StreamSchedule.Entry] = []
        for now in Int64(0)..<200 {
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let entry = StreamSchedule.Entry(
                    deadline: now + .random(in: -3...40, using: &generator),
                    stream: .random(in: 0...9, using: &generator))
                schedule.insert(entry)
                waiting.append(entry)
            }
            #expect(schedule.next == waiting.map(\.deadline).min())
            var due: [StreamSchedule.Entry] = []
            schedule.takeDue(at: now, into: &due)
            #expect(due.map(\.deadline) == due.map(\.deadline).sorted())
            let expected = waiting.filter { $0.deadline <= now }
            #expect(due.count == expected.count)
            #expect(Set(due) == Set(expected))
            waiting.removeAll { $0.deadline <= now }
        }
    }
}
