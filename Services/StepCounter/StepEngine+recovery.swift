import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What is missing: asked for again from the publisher, until it is had or given up.
extension StepEngine {
    /// Has a stream's missing samples asked for, unless that is so already.
    func recover(_ counter: DeviceCounter) {
        guard !counter.isRecovering else { return }
        counter.isRecovering = true
        recovering.yield(counter.name)
    }

    /// What is to be asked next for a stream; nil when nothing is missing, which ends its recovery.
    func missing(_ name: StreamName) -> MissingSamples? {
        guard let counter = counters[name] else { return nil }
        let missing = counter.missing()
        settle(counter, .nothing)
        if missing == nil { counter.isRecovering = false }
        return missing
    }

    /// Whether a stream's publisher is there.
    func isHeard(_ name: StreamName) -> Bool {
        counters[name].map { MonotonicClock.now - $0.heard < Self.descriptionLife.nanoseconds } ?? false
    }

    /// Takes the answer to a request for missing samples.
    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) {
        guard !isStopping, let counter = counter(of: request) else { return }
        counter.take(reply, frames, for: request)
        settle(counter, .nothing)
    }

    /// Gives up what a request asked for.
    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) {
        guard !isStopping, let counter = counter(of: request) else { return }
        counter.giveUp(request, reason: reason)
        settle(counter, .nothing)
    }

    private func counter(of request: SamplesReplay) -> DeviceCounter? {
        counters[StreamName(device: request.device, stream: request.stream)]
    }
}
