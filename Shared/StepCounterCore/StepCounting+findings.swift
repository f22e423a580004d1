import Logging
import Messages
import ServiceKit

/// Findings: stored in the history, counted for subscriptions, and published.
extension StepCounting {
    /// The most uncounted times that an update lists.
    private static let maximumGaps = 10

    /// Announces the findings of a counter.
    func announce(_ counter: DeviceCounter, at now: Moment) {
        let (found, gaps) = counter.takeFound()
        for (gap, isLoss) in gaps { announce(gap, isLoss: isLoss, of: counter, at: now) }
        for bout in found.bouts {
            publish(bout.change, of: counter.name.device, at: bout.date) { event in
                event.boutStart = bout.start
                event.confidence = bout.confidence
                event.gait = bout.gait
            }
        }
        counter.stepsUnlogged += found.steps.count
        if let end = found.bouts.last(where: { $0.change == .pause }) {
            emit(
                .log(
                    .notice, "walked",
                    [
                        "device": "\(counter.name.device)", "steps": "\(counter.stepsUnlogged)",
                        "seconds": "\(Int((end.date.seconds - end.start.seconds).rounded()))",
                    ]))
            counter.stepsUnlogged = 0
        }
        guard let last = found.steps.last else { return }
        stepsCounted += found.steps.count
        keep(found.steps.map(\.step), of: counter)
        let counted = subscriptions.count(found.steps.map(\.instant), of: counter.name.device, at: clock.state.date)
        for subscription in counted.changed { pending.note(subscription) }
        let strideLength = settings.device(counter.name.device).strideLength
        for subscription in counted.notified {
            let coverage = counter.coverage(
                from: subscription.countedFrom ?? subscription.startDate, to: last.step.date)
            publish(.update, of: counter.name.device, at: last.step.date) { event in
                event.subscription = subscription.id
                event.startDate = subscription.startDate
                event.numberOfSteps = subscription.numberOfSteps
                event.cadence = counter.finder.cadence
                event.boutStart = counter.finder.boutStart
                event.confidence = counter.finder.confidence
                event.coverage = coverage?.share
                if let gaps = coverage?.gaps, !gaps.isEmpty { event.gaps = Array(gaps.suffix(Self.maximumGaps)) }
                event.distance = strideLength.map { Double(subscription.numberOfSteps) * $0 / 2 }
            }
        }
    }

    private func keep(_ steps: [CountedStep], of counter: DeviceCounter) {
        let kept = steps.prefix(max(0, settings.maximumPending - pendingSteps))
        if !kept.isEmpty { pending.steps[counter.name.device, default: []] += kept }
        pendingSteps += kept.count
        guard kept.count < steps.count else { return }
        counter.noteDropped(from: steps[kept.count].date)
        droppedSteps += steps.count - kept.count
        emit(.lost)
    }

    private func announce(_ gap: Gap, isLoss: Bool, of counter: DeviceCounter, at now: Moment) {
        var metadata: Logger.Metadata = [
            "stream": "\(counter.name)", "from": "\(gap.from)", "count": "\(gap.count)",
            "reason": "\(gap.reason.rawValue)",
        ]
        if gap.reason == .malformed, let fault = counter.lastFault { metadata[LogKey.error] = "\(fault)" }
        if isLoss {
            emit(.log(.error, "samples lost", metadata))
            samplesLost = samplesLost.addingClamped(gap.count)
            lastLoss = (counter.name, now.monotonic)
            emit(.lost)
        } else {
            emit(.log(.notice, "counting begins with what is kept", metadata))
        }
        publish(.gap, of: counter.name.device, at: gap.date ?? now.date) { event in
            event.stream = counter.name
            event.gap = gap
        }
    }

    func publish(
        _ change: StepEvent.Change, of device: String, at date: WallTime, _ complete: (inout StepEvent) -> Void
    ) {
        let counter = counters[device]
        let sequence = counter?.eventSequence ?? strangers[device] ?? 0
        var event = StepEvent(
            source: Program.stepCounter.rawValue, sequence: sequence, device: device, change: change, date: date)
        complete(&event)
        if let counter { counter.eventSequence += 1 } else { strangers[device] = sequence + 1 }
        emit(.publish(event))
    }
}
