package import MessageBus
package import Messages
package import ServiceKit
package import ZeroMQ

/// Functions of all engines that subscribe to publishers.
extension Engine where Core: ListeningCore {
    /// Passes received events to the core, and records the sender's address of each description. Call `perform` next.
    @inlinable package func takeEvents(in batch: MessageBatch, of publishers: Publishers, at now: Moment) {
        forEachEvent(in: batch) { frames, messages, message in
            let description = try core.take(frames, at: now)
            if let description, let origin = messages.origin(of: message) {
                publishers.note(description.replay, heardFrom: origin)
            }
        }
    }
}

/// A stream of an engine's core, whose missing samples are replayed.
package struct EngineStream<Owner: Engine>: RecoveringStream where Owner.Core: RecoveringCore {
    private let engine: Owner
    private let name: StreamName

    package init(_ name: StreamName, of engine: Owner) {
        self.name = name
        self.engine = engine
    }

    package func missing() async -> MissingSamples? { await engine.missing(name) }

    package func heardSince() async -> Int64? { await engine.heardSince(name) }

    package func take(
        _ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay
    ) async -> Bool {
        await engine.take(frames, count: reply.count, for: request)
        return true
    }

    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool {
        await engine.giveUp(request, reason: reason)
        return true
    }
}

extension Engine where Core: RecoveringCore {
    fileprivate func missing(_ name: StreamName) -> MissingSamples? {
        defer { perform() }
        return core.missing(name, at: now)
    }

    fileprivate func heardSince(_ name: StreamName) -> Int64? { core.heardSince(name, at: now) }

    fileprivate func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay) {
        core.take(frames, count: count, for: request, at: now)
        perform()
    }

    fileprivate func giveUp(_ request: SamplesReplay, reason: Gap.Reason) {
        core.giveUp(request, reason: reason, at: now)
        perform()
    }
}
