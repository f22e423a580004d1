import Messages
import Testing

@testable import StepCounter

@Suite(.timeLimit(.minutes(1)))
struct StepSubscriptionTests {
    private static let start = WallTime(seconds: 1_795_219_200)

    /// Dates of steps, half a second apart, the first so many seconds after the start.
    private func steps(_ count: Int, from seconds: Double = 1) -> [WallTime] {
        (0..<count).map { WallTime(seconds: Self.start.seconds + seconds + 0.5 * Double($0)) }
    }

    private func subscribed(updateOn: Int, to device: String = "phone") throws -> StepSubscriptions {
        var subscriptions = StepSubscriptions()
        _ = try subscriptions.start(
            StepsStartUpdates(device: device, updateOn: updateOn), id: "a", startDate: Self.start)
        return subscriptions
    }

    @Test func case49TotalsAreToldAtEachMultiple() throws {
        var subscriptions = try subscribed(updateOn: 100)
        var told: [Int] = []
        for _ in 0..<350 {
            let counted = subscriptions.count(steps(1), of: "phone")
            #expect(counted.changed.count == 1)
            told += counted.notified.map(\.numberOfSteps)
        }
        #expect(told == [100, 200, 300])
    }

    @Test func case50OneUpdateWhereABatchPassesSeveral() throws {
        var subscriptions = try subscribed(updateOn: 100)
        #expect(subscriptions.count(steps(95), of: "phone").notified.isEmpty)
        #expect(subscriptions.count(steps(215), of: "phone").notified.map(\.numberOfSteps) == [310])
        #expect(subscriptions.count(steps(89), of: "phone").notified.isEmpty)
        #expect(subscriptions.count(steps(1), of: "phone").notified.map(\.numberOfSteps) == [400])
    }

    @Test func case51ASecondStartCountsAnew() throws {
        var subscriptions = try subscribed(updateOn: 10)
        _ = subscriptions.count(steps(15), of: "phone")
        let second = try subscriptions.start(
            StepsStartUpdates(device: "phone", updateOn: 4), id: "b", startDate: Self.start)
        #expect(second.numberOfSteps == 0)
        let counted = subscriptions.count(steps(5), of: "phone")
        #expect(counted.notified.map(\.id) == ["a", "b"])
        #expect(counted.notified.map(\.numberOfSteps) == [20, 5])
    }

    @Test(arguments: [0, -1, Int.min])
    func case52UpdateOnMustBePositive(updateOn: Int) throws {
        var subscriptions = StepSubscriptions()
        let error = #expect(throws: RequestError.self) {
            try subscriptions.start(
                StepsStartUpdates(device: "phone", updateOn: updateOn), id: "a", startDate: Self.start)
        }
        #expect(error?.data?.reason == "invalidParameter")
        #expect(subscriptions.count == 0)
    }

    @Test(arguments: ["", "/", "left/wrist", "phone/"])
    func aDeviceMustHaveAName(device: String) throws {
        var subscriptions = StepSubscriptions()
        let error = #expect(throws: RequestError.self) {
            try subscriptions.start(StepsStartUpdates(device: device, updateOn: 1), id: "a", startDate: Self.start)
        }
        #expect(error?.data?.reason == "invalidParameter")
    }

    @Test func devicesAreCountedApart() throws {
        var subscriptions = try subscribed(updateOn: 1)
        #expect(subscriptions.count(steps(3), of: "watch") == StepSubscriptions.Counted())
        #expect(subscriptions.count(steps(3), of: "phone").notified.map(\.numberOfSteps) == [3])
    }

    @Test func stepsMadeBeforeTheStartDoNotCount() throws {
        var subscriptions = try subscribed(updateOn: 1)
        // Four steps before the start and two from it on, credited together.
        #expect(subscriptions.count(steps(6, from: -2), of: "phone").notified.map(\.numberOfSteps) == [2])
        // The device's clock is set back.
        #expect(subscriptions.count(steps(2, from: -3600), of: "phone").notified.map(\.numberOfSteps) == [4])
    }

    @Test func noStepsChangeNothing() throws {
        var subscriptions = try subscribed(updateOn: 1)
        #expect(subscriptions.count(steps(0), of: "phone") == StepSubscriptions.Counted())
        #expect(subscriptions.count(steps(3, from: -10), of: "phone") == StepSubscriptions.Counted())
    }

    @Test func aStopTellsTheTotalAsOftenAsItIsAsked() throws {
        var subscriptions = try subscribed(updateOn: 100)
        _ = subscriptions.count(steps(7), of: "phone")
        #expect(subscriptions.stop("a")?.numberOfSteps == 7)
        #expect(subscriptions.count(steps(1), of: "phone") == StepSubscriptions.Counted())
        #expect(subscriptions.stop("a")?.numberOfSteps == 7)
        #expect(subscriptions.stop("never there") == nil)
        #expect(subscriptions.count == 0)
    }

    @Test func thereMayNotBeTooMany() throws {
        var subscriptions = StepSubscriptions()
        for number in 0..<StepsStartUpdates.maximumNumber {
            _ = try subscriptions.start(
                StepsStartUpdates(device: "phone\(number % 3)", updateOn: 1), id: "\(number)", startDate: Self.start)
        }
        let request = StepsStartUpdates(device: "phone", updateOn: 1)
        let error = #expect(throws: RequestError.self) {
            try subscriptions.start(request, id: "more", startDate: Self.start)
        }
        #expect(error?.data?.reason == "tooMany")
        #expect(subscriptions.stop("500") != nil)
        _ = try subscriptions.start(request, id: "more", startDate: Self.start)
        #expect(subscriptions.count == StepsStartUpdates.maximumNumber)
    }

    @Test func whatWasStoredGoesOn() throws {
        let stored = StepSubscription(
            id: "a", device: "phone", updateOn: 100, startDate: Self.start, numberOfSteps: 295)
        var subscriptions = StepSubscriptions([stored])
        #expect(subscriptions.count(steps(4), of: "phone").notified.isEmpty)
        #expect(subscriptions.count(steps(1), of: "phone").notified.map(\.numberOfSteps) == [300])
    }

    @Test func aHugeUpdateOnIsNeverReached() throws {
        var subscriptions = try subscribed(updateOn: .max)
        #expect(subscriptions.count(steps(1000), of: "phone").notified.isEmpty)
    }
}
