import Messages
import Testing

@testable import StepCounterCore

@Suite(.timeLimit(.minutes(1)))
struct StepSubscriptionTests {
    private static let start: Int64 = 5_000_000_000_000
    private static let startDate = WallTime(seconds: 1_795_219_200)
    private static let now = WallTime(seconds: 1_795_219_260)

    private static func later(_ seconds: Double) -> WallTime { WallTime(seconds: startDate.seconds + seconds) }

    /// Instants of steps, half a second apart, beginning this many seconds after the start.
    private func steps(_ count: Int, from seconds: Int64 = 1) -> [Int64] {
        (0..<count).map { Self.start + seconds * 1_000_000_000 + 500_000_000 * Int64($0) }
    }

    private func start(
        _ subscriptions: inout StepSubscriptions, _ id: String, device: String = "phone", updateOn: Int
    ) throws(RequestError) {
        _ = try subscriptions.start(
            StepsStartUpdates(device: device, updateOn: updateOn), id: id, startDate: Self.startDate,
            instant: Self.start, clock: Self.startDate)
    }

    private func subscribed(updateOn: Int) throws -> StepSubscriptions {
        var subscriptions = StepSubscriptions()
        try start(&subscriptions, "a", updateOn: updateOn)
        return subscriptions
    }

    /// Counts steps, and returns the published totals.
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
        // Four steps before the start and two after it, credited together.
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

    @Test func aThousandForgottenOnesDoNotLockOutTheNextClient() throws {
        var subscriptions = StepSubscriptions()
        for number in 0..<StepsStartUpdates.maximumNumber {
            try start(&subscriptions, "\(number)", device: "phone\(number % 3)", updateOn: 1)
        }
        // A subscription in use: its device makes steps like all others, and its client renews it.
        var request = StepsStartUpdates(device: "phone0", updateOn: 1, name: "study")
        _ = subscriptions.stop("999")
        let used = try subscriptions.start(
            request, id: "used", startDate: Self.startDate, instant: Self.start, clock: Self.startDate)
        #expect(used.ended == nil)
        let renewed = try subscriptions.start(
            request, id: "x", startDate: Self.now, instant: Self.start, clock: Self.later(61))
        #expect(renewed.subscription.id == "used")
        request.name = nil
        for number in 0..<(StepsStartUpdates.maximumNumber - 1) {
            let begun = try subscriptions.start(
                request, id: "new\(number)", startDate: Self.now, instant: Self.start, clock: Self.later(61))
            #expect(begun.ended.map { Int($0.id) != nil } == true, "a forgotten one ends, and is reported")
        }
        #expect(subscriptions.count == StepsStartUpdates.maximumNumber)
        let error = #expect(throws: RequestError.self) {
            try subscriptions.start(
                request, id: "more", startDate: Self.now, instant: Self.start, clock: Self.later(120))
        }
        #expect(error?.data?.reason == "tooMany")
        #expect(subscriptions.all(of: nil).contains { $0.id == "used" })
    }

    @Test func aNamedSubscriptionIsGotBackWithItsTotal() throws {
        var subscriptions = StepSubscriptions()
        let request = StepsStartUpdates(device: "phone", updateOn: 100, name: "study")
        func start(_ request: StepsStartUpdates, _ id: String) throws -> StepSubscription {
            try subscriptions.start(
                request, id: id, startDate: Self.startDate, instant: Self.start, clock: Self.startDate
            ).subscription
        }
        _ = try start(request, "a")
        _ = count(steps(150), &subscriptions)
        var again = request
        again.updateOn = 80
        let same = try start(again, "b")
        #expect(same.id == "a" && same.numberOfSteps == 150 && same.updateOn == 80)
        #expect(count(steps(10), &subscriptions) == [160])
        // Each device has its own names, and each name one subscription.
        #expect(try start(StepsStartUpdates(device: "watch", updateOn: 1, name: "study"), "c").numberOfSteps == 0)
        #expect(try start(StepsStartUpdates(device: "phone", updateOn: 1, name: "other"), "d").id == "d")
        #expect(try start(StepsStartUpdates(device: "phone", updateOn: 1), "e").id == "e")
        // A stopped subscription counts from 0 again.
        _ = subscriptions.stop("a")
        #expect(try start(request, "f").numberOfSteps == 0)
        #expect(subscriptions.all(of: "phone").map(\.id) == ["d", "e", "f"])
    }

    @Test(arguments: [
        StepsStartUpdates(device: "phone", updateOn: 1, name: ""),
        StepsStartUpdates(device: "phone", updateOn: 1, name: String(repeating: "é", count: 51)),
        StepsStartUpdates(device: "phone", updateOn: 1, lifetime: 0),
        StepsStartUpdates(device: "phone", updateOn: 1, lifetime: -.infinity),
        StepsStartUpdates(device: "phone", updateOn: 1, lifetime: .nan),
    ])
    func aNameHasALengthAndALifetimeAnEnd(request: StepsStartUpdates) {
        var subscriptions = StepSubscriptions()
        let error = #expect(throws: RequestError.self) {
            try subscriptions.start(
                request, id: "a", startDate: Self.startDate, instant: Self.start, clock: Self.startDate)
        }
        #expect(error?.data?.reason == "invalidParameter")
    }

    @Test func whatIsNotUsedEnds() throws {
        var subscriptions = try subscribed(updateOn: 1)
        try start(&subscriptions, "b", device: "watch", updateOn: 1)
        _ = count(steps(1), &subscriptions)
        let keep: Int64 = 60_000_000_000
        #expect(subscriptions.expire(at: Self.later(60), keep: keep).isEmpty)
        #expect(subscriptions.expire(at: Self.later(61), keep: keep).map(\.id) == ["b"])
        // The device made steps a minute later.
        #expect(subscriptions.expire(at: Self.later(120), keep: keep).isEmpty)
        #expect(subscriptions.expire(at: Self.later(121), keep: keep).map(\.id) == ["a"])
    }

    /// This holds whether or not its device makes steps.
    @Test func oneThatIsNotRenewedEndsAfterTheTimeThatItsClientChose() throws {
        var subscriptions = StepSubscriptions()
        let request = StepsStartUpdates(device: "phone", updateOn: 1, name: "study", lifetime: 10)
        for seconds in [0.0, 8, 16] {
            _ = try subscriptions.start(
                request, id: "a", startDate: Self.startDate, instant: Self.start, clock: Self.later(seconds))
            _ = count(steps(1), &subscriptions)
            #expect(subscriptions.expire(at: Self.later(seconds + 10), keep: .max).isEmpty)
        }
        #expect(subscriptions.expire(at: Self.later(26.5), keep: .max).map(\.numberOfSteps) == [3])
        #expect(subscriptions.count == 0)
    }

    @Test func whatWasStoredGoesOn() {
        var subscriptions = StepSubscriptions([
            StepSubscription(
                id: "a", device: "phone", updateOn: 100, startDate: Self.startDate, numberOfSteps: 295,
                lastDate: Self.startDate)
        ])
        // After a restart of the machine, its monotonic clock starts over.
        let told = [4, 1].map { count(steps($0, from: -4_000), &subscriptions) }
        #expect(told == [[], [300]])
    }

    @Test func aHugeUpdateOnIsNeverReached() throws {
        var subscriptions = try subscribed(updateOn: .max)
        let told = count(steps(1000), &subscriptions)
        #expect(told.isEmpty)
    }
}
