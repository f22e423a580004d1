import Logging
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What is found: kept for the history, counted for subscriptions, and published.
extension StepEngine {
    /// How many steps wait in memory while the history can't be written: some hours of a hundred people, 8 MB.
    private static let maximumPending = 1_000_000

    /// Tells everybody what a counter found.
    func announce(_ counter: DeviceCounter) {
        let (found, gaps) = counter.takeFound()
        for (gap, isLoss) in gaps { announce(gap, isLoss: isLoss, of: counter) }
        for bout in found.bouts {
            publish(bout.change, of: counter, at: bout.date) { $0.boutStart = bout.start }
        }
        counter.stepsUnlogged += found.steps.count
        if let end = found.bouts.last(where: { $0.change == .pause }) {
            logger.notice(
                "walked",
                metadata: [
                    "device": "\(counter.name.device)", "steps": "\(counter.stepsUnlogged)",
                    "seconds": "\(Int((end.date.seconds - end.start.seconds).rounded()))",
                ])
            counter.stepsUnlogged = 0
        }
        guard let last = found.steps.last else { return }
        stepsCounted += found.steps.count
        keep(found.steps.map(\.date), of: counter)
        let counted = subscriptions.count(found.steps.map(\.instant), of: counter.name.device, at: .now)
        for subscription in counted.changed { pending.note(subscription) }
        let strideLength = settings.device(counter.name.device).strideLength
        for subscription in counted.notified {
            publish(.update, of: counter, at: last.date) { event in
                event.subscription = subscription.id
                event.startDate = subscription.startDate
                event.numberOfSteps = subscription.numberOfSteps
                event.cadence = counter.finder.cadence
                event.boutStart = counter.finder.boutStart
                event.distance = strideLength.map { Double(subscription.numberOfSteps) * $0 / 2 }
            }
        }
    }

    private func keep(_ dates: [WallTime], of counter: DeviceCounter) {
        let kept = dates.prefix(max(0, Self.maximumPending - pendingSteps))
        pending.steps[counter.name.device, default: []] += kept
        pendingSteps += kept.count
        if kept.count < dates.count {
            droppedSteps += dates.count - kept.count
            loss.raise()
        }
    }

    private func announce(_ gap: Gap, isLoss: Bool, of counter: DeviceCounter) {
        var metadata: Logger.Metadata = [
            "stream": "\(counter.name)", "from": "\(gap.from)", "count": "\(gap.count)",
            "reason": "\(gap.reason.rawValue)",
        ]
        if gap.reason == .malformed, let fault = counter.lastFault { metadata[LogKey.error] = "\(fault)" }
        if isLoss {
            logger.error("samples lost", metadata: metadata)
            samplesLost = samplesLost.addingClamped(gap.count)
            lastGap = (counter.name, MonotonicClock.now)
            loss.raise()
        } else {
            logger.notice("counting begins with what is kept", metadata: metadata)
        }
        publish(.gap, of: counter, at: gap.date ?? .now) { event in
            event.stream = counter.name
            event.gap = gap
        }
    }

    /// Publishes an event. One that can't be sent is logged.
    private func publish(
        _ change: StepEvent.Change, of counter: DeviceCounter, at date: WallTime, _ complete: (inout StepEvent) -> Void
    ) {
        var event = StepEvent(
            source: Self.source, sequence: counter.eventSequence, device: counter.name.device, change: change,
            date: date)
        complete(&event)
        counter.eventSequence += 1
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }
}
