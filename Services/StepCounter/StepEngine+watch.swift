import Messages
import ServiceKit
import ZeroMQ

/// How it is: told to health each second.
extension StepEngine {
    /// Publishers describe their streams each second. One that has not done so for this long is not there.
    static let descriptionLife = TimeSpan.seconds(5)
    /// How long health speaks of samples that were lost.
    private static let lossInterval = TimeSpan.seconds(60)
    /// From which difference on a device's clock is called wrong.
    private static let largestSkew = TimeSpan.seconds(600)

    /// Looks at everything each second, until the task is cancelled.
    func watchRegularly() async throws {
        while true {
            try await thread.sleep(until: MonotonicClock.now + 1_000_000_000)
            watchPublishers()
            watchDevices()
            health.measure("devices", Double(order.count))
            health.measure("devicesCatchingUp", Double(order.count { $0.isRecovering }))
            health.measure("subscriptions", Double(subscriptions.count))
            health.measure("samplesTaken", Double(order.reduce(0) { $0 + $1.samplesCounted }))
            health.measure("samplesLost", Double(samplesLost))
            health.measure("stepsCounted", Double(stepsCounted))
            health.measure("stepsNotStored", Double(pendingSteps))
            guard delays.count > 0 else { continue }
            health.measure("delayMedianSeconds", Double(delays.median) / 1e9)
            health.measure("delay99PercentSeconds", Double(delays.percentile99) / 1e9)
        }
    }

    private func watchPublishers() {
        let now = MonotonicClock.now
        let endpoints = settings.subscribe.map(\.description).joined(separator: ", ")
        if now - heard > Self.descriptionLife.nanoseconds {
            health.report(
                .degraded,
                "no publisher is heard at \(endpoints): start sensor-publisher, or say with --subscribe where it is",
                for: "publishers")
        } else {
            health.clear("publishers")
        }
        if let lastGap, now - lastGap.instant < Self.lossInterval.nanoseconds {
            health.report(
                .degraded, "\(samplesLost) samples were lost so far, just now of \(lastGap.stream): see the log",
                for: "loss")
        } else {
            health.clear("loss")
        }
    }

    private func watchDevices() {
        let now = MonotonicClock.now
        let date = WallTime.now
        var wrong: (name: StreamName, seconds: Double)?
        var twice: StreamName?
        for counter in order where now - counter.heard < Self.descriptionLife.nanoseconds {
            if let other = counter.heardOther, now - other < Self.descriptionLife.nanoseconds { twice = counter.name }
            let skew = counter.clock.date.seconds - date.seconds + Double(now - counter.heard) / 1e9
            if abs(skew) > Double(Self.largestSkew.nanoseconds) / 1e9 { wrong = (counter.name, skew) }
        }
        if let twice {
            health.report(
                .degraded,
                "two publishers have a stream \(twice): only the one that started last is counted; name their devices apart",
                for: "twice")
        } else {
            health.clear("twice")
        }
        if let wrong {
            health.reportClock(
                of: wrong.name.device, ahead: wrong.seconds, ": its steps have its dates; set the clock")
        } else {
            health.clear("clock")
        }
    }
}
