import MessageBus
import Metrics
import ServiceKit
import StepCounterCore

/// What it counts, for those who watch it.
extension StepEngine {
    private var samples: Int { core.devices.reduce(0) { $0 + $1.samplesCounted } }
    private var catchingUp: Int { core.devices.count(where: \.isRecovering) }

    var metrics: MetricsPage {
        var page = MetricsPage()
        func add(_ kind: Metric.Kind, _ name: String, _ help: String, _ value: Int) {
            page.add(Metric(kind, "holdfast_steps_\(name)", help), value)
        }
        add(.gauge, "devices", "Devices whose steps are counted.", core.devices.count)
        add(
            .gauge, "catching_up_devices", "Devices among them whose missing samples are being replayed.", catchingUp)
        add(.gauge, "refused_streams", "Streams that can't be counted.", core.refused.count)
        add(.gauge, "subscriptions", "Subscriptions under way.", core.subscriptions.count)
        add(.counter, "samples_total", "Samples that were searched for steps.", samples)
        add(
            .counter, "lost_samples_total", "Samples lost and not recoverable from the publisher.", core.samplesLost)
        add(.counter, "found_total", "Steps found.", core.stepsCounted)
        add(.gauge, "unstored", "Steps that are not in the history yet.", core.pendingSteps)
        add(
            .counter, "dropped_total", "Steps missing in the history because it could not be written for too long.",
            core.droppedSteps)
        add(.gauge, "held_bytes", "Memory of the batches that wait for samples before them.", core.held.bytes)
        page.add(
            Metric(
                .histogram, "holdfast_steps_delay_seconds", "From a batch's publication until its steps are counted."),
            core.delays)
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
