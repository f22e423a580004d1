import Messages
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(1)))
struct MomentTests {
    /// Reads clocks that start at 0 and advance by these steps between the readings.
    private func moment(steps: [Int64]) -> (now: Moment, readings: Int) {
        var (time, readings) = (Int64(0), 0)
        func next() -> Int64 {
            defer {
                time += steps[min(readings, steps.count - 1)]
                readings += 1
            }
            return time
        }
        let now = Moment.read(monotonic: next) { WallTime(nanosecondsSince1970: next()) }
        return (now, readings)
    }

    @Test func bothClocksAreReadTogether() {
        let (now, readings) = moment(steps: [30, 40])
        #expect(now == Moment(monotonic: 0, date: WallTime(nanosecondsSince1970: 30)))
        #expect(readings == 3)
    }

    /// Another program may take the processor between the readings.
    @Test func whatHappensInBetweenIsReadAgain() {
        let (now, readings) = moment(steps: [130_000_000, 20, 20, 30, 20])
        #expect(now.date.nanosecondsSince1970 - now.monotonic == 30)
        #expect(readings == 6)
    }

    @Test func aMachineThatIsAlwaysHeldUpIsNotAskedWithoutEnd() {
        #expect(moment(steps: [1_000_000]).readings <= 30)
    }
}
