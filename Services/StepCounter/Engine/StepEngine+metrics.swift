import MessageBus
import Metrics
import ServiceKit
import StepCounterCore

extension Metric {
    fileprivate static let devices = Metric(
        .gauge, "holdfast_steps_devices", "Devices whose steps are counted.")
    fileprivate static let catchingUp = Metric(
        .gauge, "holdfast_steps_catching_up_devices",
        "Of those, the ones whose missing samples are being asked for.")
    fileprivate static let refused = Metric(
        .gauge, "holdfast_steps_refused_streams", "Streams that can't be counted.")
    fileprivate static let subscriptions = Metric(
        .gauge, "holdfast_steps_subscriptions", "Subscriptions under way.")
    fileprivate static let samples = Metric(
        .counter, "holdfast_steps_samples_total", "Samples in which steps were looked for.")
    fileprivate static let lost = Metric(
        .counter, "holdfast_steps_lost_samples_total", "Samples that could not be had.")
    fileprivate static let steps = Metric(.counter, "holdfast_steps_found_total", "Steps that were found.")
    fileprivate static let unstored = Metric(
        .gauge, "holdfast_steps_unstored", "Steps that are not in the history yet.")
    fileprivate static let dropped = Metric(
        .counter, "holdfast_steps_dropped_total",
        "Steps that never came into the history, for it could not be written for too long.")
    fileprivate static let heldBytes = Metric(
        .gauge, "holdfast_steps_held_bytes", "Memory of the batches that wait for samples before them.")
    fileprivate static let delay = Metric(
        .histogram, "holdfast_steps_delay_seconds", "From a batch's publication until its steps are counted.")
}

/// What it counts, for those who watch it.
extension StepEngine {
    private var samples: Int { core.devices.reduce(0) { $0 + $1.samplesCounted } }
    private var catchingUp: Int { core.devices.count(where: \.isRecovering) }

    var metrics: MetricsPage {
        var page = MetricsPage()
        page.add(.devices, core.devices.count)
        page.add(.catchingUp, catchingUp)
        page.add(.refused, core.refused.count)
        page.add(.subscriptions, core.subscriptions.count)
        page.add(.samples, samples)
        page.add(.lost, core.samplesLost)
        page.add(.steps, core.stepsCounted)
        page.add(.unstored, core.pendingSteps)
        page.add(.dropped, core.droppedSteps)
        page.add(.heldBytes, core.held.bytes)
        page.add(.delay, core.delays)
        return page
    }

    /// Passes to health what it measures.
    func measure() {
        health.measure("devices", Double(core.devices.count))
        health.measure("devicesCatchingUp", Double(catchingUp))
        health.measure("subscriptions", Double(core.subscriptions.count))
        health.measure("samplesTaken", Double(samples))
        health.measure("samplesLost", Double(core.samplesLost))
        health.measure("stepsCounted", Double(core.stepsCounted))
        health.measure("stepsNotStored", Double(core.pendingSteps))
        guard core.delays.count > 0 else { return }
        health.measure("delayMedianSeconds", Double(core.delays.median) / 1e9)
        health.measure("delay99PercentSeconds", Double(core.delays.percentile99) / 1e9)
    }
}
