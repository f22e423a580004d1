import Messages
import Testing

@testable import StepCounterCore

@Suite(.timeLimit(.minutes(1)))
struct StepSubscriptionTests {
    private static let start: Int64 = 5_000_000_000_000
    private static let startDate = WallTime(seconds: 1_795_219_200)
    private static let now = WallTime(seconds: 1_795_219_260)

    /// Instants of steps, half a second apart, the first so many seconds after the start.
    private func steps(_ count: Int, from seconds: Int64 = 1) -> [Int64] {
        (0..<count).map { Self.start + seconds * 1_000_000_000 + 500_000_000 * Int64($0) }
    }

    private func start(
        _ subscriptions: inout StepSubscriptions, _ id: String, device: String = "phone", updateOn: Int
    ) throws(RequestError) {
        _ = try subscriptions.start(
            StepsStartUpdates(device: device, updateOn: updateOn), id: id, startDate: Self.startDate,
            instant: Self.start)
    }

    private func subscribed(updateOn: Int) throws -> StepSubscriptions {
        var subscriptions = StepSubscriptions()
        try start(&subscriptions, "a", updateOn: updateOn)
        return subscriptions
    }

    /// Counts steps, and gives the totals that are told.
    private func count(
        _ steps: [Int64], _ subscriptions: inout StepSubscriptions, device: String = "phone"
    ) -> [Int] {
        subscriptions.count(steps, of: device, at: Self.now).notified.map(\.numberOfSteps)
    }

    @Test func case49TotalsAreToldAtEachMultiple() throws {
        var subscriptions = try subscribed(updateOn: 100)
        var told: [Int] = []
        for _ in 0..<350 { told += count(steps(1), &subscriptions) }
        #expect(told == [100, 200, 300])
    }

    @Test func case50OneUpdateWhereABatchPassesSeveral() throws {
        var subscriptions = try subscribed(updateOn: 100)
        let told = [95, 215, 89, 1].map { count(steps($0), &subscriptions) }
        #expect(told == [[], [310], [], [400]])
    }

    @Test func case51ASecondStartCountsAnew() throws {
        var subscriptions = try subscribed(updateOn: 10)
        _ = count(steps(15), &subscriptions)
        try start(&subscriptions, "b", updateOn: 4)
        let counted = subscriptions.count(steps(5), of: "phone", at: Self.now)
        #expect(counted.notified.map(\.id) == ["a", "b"])
        #expect(counted.notified.map(\.numberOfSteps) == [20, 5])
    }

    @Test(arguments: [0, -1, Int.min])
    func case52UpdateOnMustBePositive(updateOn: Int) {
        var subscriptions = StepSubscriptions()
        let error = #expect(throws: RequestError.self) { try start(&subscriptions, "a", updateOn: updateOn) }
        #expect(error?.data?.reason == "invalidParameter")
        #expect(subscriptions.count == 0)
    }

    @Test(arguments: ["", "/", "left/wrist", "phone/"])
    func aDeviceMustHaveAName(device: String) {
        var subscriptions = StepSubscriptions()
        let error = #expect(throws: RequestError.self) { try start(&subscriptions, "a", device: device, updateOn: 1) }
        #expect(error?.data?.reason == "invalidParameter")
    }

    @Test func devicesAreCountedApart() throws {
        var subscriptions = try subscribed(updateOn: 1)
        let watch = subscriptions.count(steps(3), of: "watch", at: Self.now)
        #expect(watch == StepSubscriptions.Counted())
        let phone = count(steps(3), &subscriptions)
        #expect(phone == [3])
    }

    @Test func stepsMadeBeforeTheStartDoNotCount() throws {
        var subscriptions = try subscribed(updateOn: 1)
        // Four before the start and two from it on, credited together.
        let counted = subscriptions.count(steps(6, from: -2), of: "phone", at: Self.now)
        #expect(counted.notified.map(\.numberOfSteps) == [2])
        let before = subscriptions.count(steps(3, from: -10), of: "phone", at: Self.now)
        #expect(before == StepSubscriptions.Counted())
    }

    @Test func noStepsChangeNothing() throws {
        var subscriptions = try subscribed(updateOn: 1)
        let counted = subscriptions.count([], of: "phone", at: Self.now)
        #expect(counted == StepSubscriptions.Counted())
    }

    @Test func aStopTellsTheTotalAsOftenAsItIsAsked() throws {
        var subscriptions = try subscribed(updateOn: 100)
        _ = count(steps(7), &subscriptions)
        for _ in 0..<2 {
            let stopped = subscriptions.stop("a")
            #expect(stopped?.numberOfSteps == 7)
            let counted = subscriptions.count(steps(1), of: "phone", at: Self.now)
            #expect(counted == StepSubscriptions.Counted())
        }
        let unknown = subscriptions.stop("never there")
        #expect(unknown == nil)
        #expect(subscriptions.count == 0)
    }

    @Test func thereMayNotBeTooMany() throws {
        var subscriptions = StepSubscriptions()
        for number in 0..<StepsStartUpdates.maximumNumber {
            try start(&subscriptions, "\(number)", device: "phone\(number % 3)", updateOn: 1)
        }
        let error = #expect(throws: RequestError.self) { try start(&subscriptions, "more", updateOn: 1) }
        #expect(error?.data?.reason == "tooMany")
        let stopped = subscriptions.stop("500")
        #expect(stopped != nil)
        try start(&subscriptions, "more", updateOn: 1)
        #expect(subscriptions.count == StepsStartUpdates.maximumNumber)
    }

    @Test func whatHasNotCountedForLongEnds() throws {
        var subscriptions = try subscribed(updateOn: 1)
        try start(&subscriptions, "b", device: "watch", updateOn: 1)
        _ = count(steps(1), &subscriptions)
        let early = subscriptions.expire(before: Self.startDate)
        #expect(early.isEmpty)
        let expired = subscriptions.expire(before: Self.now)
        #expect(expired.map(\.id) == ["b"])
        #expect(subscriptions.count == 1)
    }

    @Test func whatWasStoredGoesOn() {
        var subscriptions = StepSubscriptions([
            StepSubscription(
                id: "a", device: "phone", updateOn: 100, startDate: Self.startDate, numberOfSteps: 295,
                lastDate: Self.startDate)
        ])
        // After a restart of the machine its monotonic clock begins anew.
        let told = [4, 1].map { count(steps($0, from: -4_000), &subscriptions) }
        #expect(told == [[], [300]])
    }

    @Test func aHugeUpdateOnIsNeverReached() throws {
        var subscriptions = try subscribed(updateOn: .max)
        let told = count(steps(1000), &subscriptions)
        #expect(told.isEmpty)
    }
}
