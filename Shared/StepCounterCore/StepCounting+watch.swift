import MessageBus
package import Messages
import ServiceKit

/// Monitoring: publishers, clocks, losses, and streams that cannot be counted.
extension StepCounting {
    /// How long health reports lost samples, and a stream that cannot be counted and is no longer described, in nanoseconds.
    private static let memory = TimeSpan.seconds(60).nanoseconds
    /// From this difference on a device's clock counts as wrong, in seconds.
    private static let largestSkew = 600.0

    /// Whether steps of a device, or of any, are counted at present.
    package func isAvailable(_ device: String?, at now: Moment) -> Bool {
        devices.contains { counter in
            (device.map { $0 == counter.name.device } ?? true) && isHeard(counter, at: now)
        }
    }

    func watch(at now: Moment) {
        watchPublishers(at: now)
        watchDevices(at: now)
        let known = refused.count
        refused = refused.filter { now.monotonic - $0.value.heard < Self.memory }
        if refused.count < known { reportRefused() }
    }

    private func watchPublishers(at now: Moment) {
        emit(.silence(now.monotonic - heard > StreamDescription.life, at: settings.publishers))
        let loss = lastLoss.flatMap { now.monotonic - $0.instant < Self.memory ? $0.stream : nil }
        emit(
            .warn(
                loss.map { "\(samplesLost) samples were lost so far, just now of \($0): see the log" }, for: "loss"))
    }

    private func watchDevices(at now: Moment) {
        var wrong: (name: StreamName, seconds: Double)?
        var twice: StreamName?
        for counter in devices where isHeard(counter, at: now) {
            if let other = counter.heardOther, now.monotonic - other < StreamDescription.life { twice = counter.name }
            let skew = counter.date(at: now).seconds - now.date.seconds
            if abs(skew) > Self.largestSkew { wrong = (counter.name, skew) }
        }
        emit(
            .warn(
                twice.map {
                    "two publishers have a stream \($0): only the one that started last is counted; give their devices different names"
                }, for: "twice"))
        emit(
            wrong.map {
                .wrongClock(
                    of: $0.name.device, ahead: $0.seconds, ": its steps have its dates; set the clock")
            } ?? .clear("clock"))
    }
}
