package import MessageBus
package import Messages

/// Missing samples: replayed by the publisher until none are missing, or given up.
extension StepCounting {
    /// The samples to request next from a stream's publisher; nil if none are missing, which ends the recovery.
    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let counter = counter(of: name) else { return nil }
        let missing = isStopping ? nil : counter.missing(at: now)
        finish(counter, isMissing: false, at: now)
        counter.isRecovering = missing != nil
        return missing
    }

    package func heardSince(_ name: StreamName, at now: Moment) -> Int64? {
        counter(of: name)?.heard.since(at: now.monotonic)
    }

    /// Whether a stream's publisher is running and reachable.
    func isHeard(_ counter: DeviceCounter, at now: Moment) -> Bool {
        now.monotonic - counter.heard.last < StreamDescription.life
    }

    /// Takes the reply to a request for missing samples.
    /// - Parameter count: the number of samples in the frames, according to the reply.
    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let counter = asker(of: request) else { return }
        counter.take(frames, count: count, for: request, at: now)
        finish(counter, isMissing: false, at: now)
    }

    /// Gives up the samples of a request.
    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment) {
        guard let counter = asker(of: request) else { return }
        counter.giveUp(reason, at: now)
        finish(counter, isMissing: false, at: now)
    }

    /// The counter whose missing samples a request asks for, if they are still the next missing ones.
    private func asker(of request: SamplesReplay) -> DeviceCounter? {
        guard !isStopping, let counter = counter(of: StreamName(device: request.device, stream: request.stream)),
            counter.ordered.buffer.isMissing(request)
        else { return nil }
        return counter
    }
}
