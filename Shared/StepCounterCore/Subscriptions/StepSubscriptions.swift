import DequeModule
import Messages

/// All subscriptions: their totals, and which are to be notified.
///
/// At most `StepsStartUpdates.maximumNumber` at a time: one more ends the one that was not renewed for longest. The totals of
/// recently stopped subscriptions are remembered, so that a stop whose reply was lost can be repeated.
package struct StepSubscriptions: Sendable {
    private var byDevice: [String: [StepSubscription]]
    private var stopped: Deque<StepSubscription> = []

    /// Subscriptions that continue after a restart, or none.
    init(_ subscriptions: [StepSubscription] = []) {
        byDevice = Dictionary(grouping: subscriptions, by: \.device)
    }

    package var count: Int { byDevice.values.reduce(0) { $0 + $1.count } }

    /// How long after its renewal a subscription is not ended to make room for another one, in nanoseconds.
    private static let protection: Int64 = 60_000_000_000

    func has(_ device: String) -> Bool { byDevice[device] != nil }

    /// All subscriptions of a device, or of all devices, in the order of their starts.
    func all(of device: String?) -> [StepSubscription] {
        let all = device.map { byDevice[$0] ?? [] } ?? byDevice.values.flatMap(\.self)
        return all.sorted { ($0.startDate, $0.id) < ($1.startDate, $1.id) }
    }

    /// Begins a subscription, which counts from 0, or renews the one with the same name; others of the device continue.
    ///
    /// - Parameters:
    ///   - id: a new identifier, never used before.
    ///   - startDate: now.
    ///   - instant: now, in nanoseconds of the monotonic clock.
    ///   - clock: now, on the history's clock.
    ///   - countedFrom: now, on the device's clock, if that is known.
    /// - Returns: the subscription, and one that ended to make room for it.
    /// - Throws: `invalidParameter` for an impossible device or name, `updateOn` below 1 or an impossible `lifetime`; `tooMany`
    ///   if there is no room for it.
    mutating func start(
        _ request: StepsStartUpdates, id: String, startDate: WallTime, instant: Int64, clock: WallTime,
        countedFrom: WallTime? = nil
    ) throws(RequestError) -> (subscription: StepSubscription, ended: StepSubscription?) {
        let lifetime = try Self.check(request)
        if let name = request.name,
            let index = byDevice[request.device]?.firstIndex(where: { $0.name == name }),
            var subscription = byDevice[request.device]?[index]
        {
            subscription.updateOn = request.updateOn
            subscription.lifetime = lifetime
            subscription.renewedDate = clock
            byDevice[request.device]?[index] = subscription
            return (subscription, nil)
        }
        let ended = count < StepsStartUpdates.maximumNumber ? nil : try makeRoom(at: clock)
        let subscription = StepSubscription(
            id: id, device: request.device, name: request.name, updateOn: request.updateOn, startDate: startDate,
            start: instant, countedFrom: countedFrom, renewedDate: clock, lifetime: lifetime, numberOfSteps: 0,
            lastDate: clock)
        byDevice[request.device, default: []].append(subscription)
        return (subscription, ended)
    }

    /// - Returns: the lifetime in nanoseconds, if the request has one.
    private static func check(_ request: StepsStartUpdates) throws(RequestError) -> Int64? {
        guard StreamName("\(request.device)/accelerometer") != nil else {
            throw RequestError(
                .invalidParameter,
                "\"\(request.device.prefix(64))\" is not a device's name: write it as in topics, without '/'")
        }
        guard request.updateOn > 0 else {
            throw RequestError(
                .invalidParameter,
                "updateOn is \(request.updateOn): write the number of steps between updates, 1 or more")
        }
        if let name = request.name {
            guard (1...StepsStartUpdates.maximumNameLength).contains(name.utf8.count) else {
                throw RequestError(
                    .invalidParameter,
                    "the name has \(name.utf8.count) bytes: write 1 to \(StepsStartUpdates.maximumNameLength)")
            }
        }
        guard let lifetime = request.lifetime else { return nil }
        guard lifetime > 0 else {
            throw RequestError(
                .invalidParameter, "lifetime is \(lifetime): write the seconds after which it ends, more than 0")
        }
        return Int64(exactly: (lifetime * 1e9).rounded(.up)) ?? .max
    }

    /// Ends the subscription that was not renewed for longest.
    private mutating func makeRoom(at clock: WallTime) throws(RequestError) -> StepSubscription {
        let all = byDevice.values.joined()
        guard let last = all.min(by: { ($0.renewedDate, $0.id) < ($1.renewedDate, $1.id) }),
            last.renewedDate.nanosecondsSince1970.addingClamped(Self.protection) < clock.nanosecondsSince1970
        else {
            throw RequestError(
                .tooMany,
                "\(StepsStartUpdates.maximumNumber) subscriptions were started in the last minute: stop one that is not "
                    + "needs, as steps.subscriptions lists them, or ask again in a minute")
        }
        _ = remove { $0.id == last.id }
        return last
    }

    /// Ends a subscription.
    /// - Returns: the subscription with its total, even if it was stopped recently; nil if it is unknown.
    mutating func stop(_ id: String) -> StepSubscription? {
        guard let subscription = remove({ $0.id == id }).first else { return stopped.first { $0.id == id } }
        if stopped.count == StepsStartUpdates.maximumNumber { stopped.removeFirst() }
        stopped.append(subscription)
        return subscription
    }

    /// Ends subscriptions that were unused for too long, such as those of programs that have ended.
    /// - Parameters:
    ///   - date: now, on the history's clock.
    ///   - keep: how long the history is kept, in nanoseconds.
    mutating func expire(at date: WallTime, keep: Int64) -> [StepSubscription] {
        remove { $0.isUnused(at: date, keep: keep) }
    }

    /// Moves the dates of subscriptions when the history's clock jumps ahead: those used since the wall clock's jump would seem
    /// unused for that long.
    /// - Parameters:
    ///   - ahead: the size of the jump, in nanoseconds.
    ///   - date: when the clock was last right. If that is unknown, all dates move: no subscription may end too early.
    mutating func follow(_ ahead: Int64, since date: WallTime?) {
        for device in byDevice.keys {
            for index in byDevice[device, default: []].indices {
                byDevice[device]?[index].follow(ahead, since: date ?? WallTime(nanosecondsSince1970: .min))
            }
        }
    }

    private mutating func remove(_ isRemoved: (StepSubscription) -> Bool) -> [StepSubscription] {
        let removed = byDevice.values.flatMap { $0.filter(isRemoved) }
        for device in Set(removed.map(\.device)) {
            byDevice[device]?.removeAll(where: isRemoved)
            if byDevice[device]?.isEmpty == true { byDevice[device] = nil }
        }
        return removed
    }

    /// Counts steps of a device credited together, with their times in nanoseconds of the monotonic clock.
    /// - Returns: the subscriptions whose total changed, and those to notify: each once, with its total.
    mutating func count(_ steps: [Int64], of device: String, at date: WallTime) -> Counted {
        var counted = Counted()
        guard var subscriptions = byDevice[device] else { return counted }
        for index in subscriptions.indices {
            let before = subscriptions[index].numberOfSteps
            let isNotified = subscriptions[index].count(steps, at: date)
            guard subscriptions[index].numberOfSteps > before else { continue }
            counted.changed.append(subscriptions[index])
            if isNotified { counted.notified.append(subscriptions[index]) }
        }
        byDevice[device] = subscriptions
        return counted
    }

    struct Counted: Hashable, Sendable {
        /// Subscriptions with a new total.
        var changed: [StepSubscription] = []
        /// Those to notify.
        var notified: [StepSubscription] = []
    }
}
