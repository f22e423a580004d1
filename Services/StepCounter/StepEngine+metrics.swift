import Metrics
import ServiceKit

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
    var metrics: MetricsPage {
        var page = MetricsPage()
        page.add(.devices, order.count)
        page.add(.catchingUp, order.count(where: \.isRecovering))
        page.add(.refused, refused.count)
        page.add(.subscriptions, subscriptions.count)
        page.add(.samples, order.reduce(0) { $0 + $1.samplesCounted })
        page.add(.lost, samplesLost)
        page.add(.steps, stepsCounted)
        page.add(.unstored, pendingSteps)
        page.add(.dropped, droppedSteps)
        page.add(.heldBytes, heldBytes)
        page.add(.delay, delays)
        return page
    }
}
