import MessageBus
import Metrics
import Runtime
import ServiceKit
import StepCounterCore

extension Metric {
    fileprivate static let devices = Metric(
        .gauge, "holdfast_steps_devices", "Devices whose steps are counted.", health: "devices")
    fileprivate static let catchingUp = Metric(
        .gauge, "holdfast_steps_catching_up_devices", "Devices whose missing samples are being replayed.",
        health: "devicesCatchingUp")
    fileprivate static let refused = Metric(
        .gauge, "holdfast_steps_refused_streams", "Streams that can't be counted.")
    fileprivate static let subscriptions = Metric(
        .gauge, "holdfast_steps_subscriptions", "Subscriptions under way.", health: "subscriptions")
    fileprivate static let samples = Metric(
        .counter, "holdfast_steps_samples_total", "Samples that were searched for steps.", health: "samplesTaken")
    fileprivate static let lost = Metric(
        .counter, "holdfast_steps_lost_samples_total", "Samples lost and not recoverable from the publisher.",
        health: "samplesLost")
    fileprivate static let found = Metric(
        .counter, "holdfast_steps_found_total", "Steps found.", health: "stepsCounted")
    fileprivate static let unstored = Metric(
        .gauge, "holdfast_steps_unstored", "Steps that are not in the history yet.", health: "stepsNotStored")
    fileprivate static let dropped = Metric(
        .counter, "holdfast_steps_dropped_total",
        "Steps missing in the history because it could not be written for too long.")
    fileprivate static let held = Metric(
        .gauge, "holdfast_steps_held_bytes", "Memory of the batches that wait for samples before them.",
        health: "heldBytes")
    fileprivate static let delay = Metric(
        .histogram, "holdfast_steps_delay_seconds", "Time from a batch's publication until its steps are counted.",
        health: "delay")
}

/// The measurements for health and metrics.
extension StepEngine {
    func measure() {
        health.measure(.devices, core.devices.count)
        health.measure(.catchingUp, core.devices.count(where: \.isRecovering))
        health.measure(.refused, core.refused.count)
        health.measure(.subscriptions, core.subscriptions.count)
        health.measure(.samples, core.devices.reduce(0) { $0 + $1.samplesCounted })
        health.measure(.lost, core.samplesLost)
        health.measure(.found, core.stepsCounted)
        health.measure(.unstored, core.pendingSteps)
        health.measure(.dropped, core.droppedSteps)
        health.measure(.held, core.held.bytes)
        health.measure(.delay, core.delays)
    }
}
