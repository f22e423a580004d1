import Logging
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What arrives: batches of samples and descriptions of streams.
extension StepEngine {
    /// Streams that can't be counted and are remembered as such: a stranger could publish under ever new names.
    private static let maximumRefused = 4_096

    /// Takes what was received, counts, and says what is missing.
    func take(_ batch: MessageBatch) async {
        guard !isStopping else { return }
        let now = MonotonicClock.now
        let date = WallTime.now
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let frames = try EventFrames(message, of: messages)
                    if let counter = topics.value(of: frames.topic) {
                        try take(frames, by: counter)
                        if let published = EventTime.time(in: frames.time) {
                            delays.record(nanoseconds: date.nanosecondsSince1970 - published.nanosecondsSince1970)
                        }
                    } else if frames.isIn(TopicArea.stream) {
                        heard = now
                        guard isWanted(frames.topic) else { continue }
                        let description = try descriptions.read(frames)
                        if let origin = messages.origin(of: message) {
                            publishers.note(description.replay, heardFrom: origin)
                        }
                        take(description, at: now)
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        await subscribeToNewTopics()
    }

    private func take(_ frames: EventFrames, by counter: DeviceCounter) throws(MessageError) {
        let body = try counter.reader.read(frames.body)
        let outcome = try counter.take(
            ReceivedBatch(body, frames.body, packed: frames.packed), canHold: heldBytes < settings.holdLimit.bytes)
        settle(counter, outcome)
    }

    /// Carries on what a counter did.
    func settle(_ counter: DeviceCounter, _ outcome: DeviceCounter.Outcome) {
        heldBytes += counter.intake.heldBytes - counter.accountedBytes
        counter.accountedBytes = counter.intake.heldBytes
        if counter.hasFound { announce(counter) }
        if case .recover = outcome { recover(counter) }
    }

    /// Whether a description may be of a stream that is to be counted.
    private func isWanted(_ topic: UnsafeRawBufferPointer) -> Bool {
        settings.streams.contains { name in
            topic.count > name.utf8.count && topic.suffix(name.utf8.count).elementsEqual(name.utf8)
        }
    }

    private func take(_ description: StreamDescription, at now: Int64) {
        let name = description.name
        guard settings.streams.contains(name.stream) else { return }
        do throws(MessageError) {
            guard StreamName(name.description) == name else {
                throw MessageError(.malformed, "it is no stream's name: a device and a stream, without further slashes")
            }
            let layout = try AccelerationLayout(description.fields)
            let detector = settings.detector(of: name.device, unit: try unit(of: description))
            if let counter = counters[name] {
                settle(counter, counter.describe(description, layout, detector, at: now))
            } else {
                let isLate = try checkPlace(for: name)
                let position = stored.removeValue(forKey: name)
                let counter = DeviceCounter(
                    description, layout, detector, stored: isLate ? nil : position, isLate: isLate, at: now)
                add(counter)
                settle(counter, counter.describe(description, layout, detector, at: now))
            }
            if !refused.isEmpty { accept(name) }
        } catch {
            refuse(name, error.message)
        }
    }

    private func unit(of description: StreamDescription) throws(MessageError) -> AccelerationUnit {
        guard let text = description.unit else {
            guard let unit = settings.device(description.device).unit else {
                throw MessageError(
                    .missingField,
                    "it says no unit: start its publisher with --unit g or m/s2, or step-counter with --unit")
            }
            return unit
        }
        guard let unit = AccelerationUnit(text) else {
            throw MessageError(.wrongType, "its unit is '\(text.prefix(32))': an acceleration is measured in g or m/s2")
        }
        return unit
    }

    /// Refuses a stream of a device that is counted in another one, and devices for which there is no room.
    /// - Returns: whether the device was counted in another stream before this program started.
    private func checkPlace(for name: StreamName) throws(MessageError) -> Bool {
        if let other = streams[name.device] {
            throw MessageError(
                .outOfRange, "\(other) is counted: name with --stream the one that is to be counted, and no other")
        }
        guard counters.count < settings.maximumDevices else {
            throw MessageError(
                .outOfRange,
                "\(settings.maximumDevices) devices are counted, and there may be no more: say --maximum-devices, or let "
                    + "another step-counter with a data directory of its own listen to some of the publishers")
        }
        let before = settings.streams.map { StreamName(device: name.device, stream: $0) }
            .first { $0 != name && stored[$0] != nil }
        guard let before else { return false }
        // It may be described any moment.
        guard MonotonicClock.now > startedAt + Self.descriptionLife.nanoseconds else {
            throw MessageError(.outOfRange, "\(before) was counted before, and is waited for")
        }
        stored[before] = nil
        return true
    }

    private func add(_ counter: DeviceCounter) {
        counters[counter.name] = counter
        order.append(counter)
        streams[counter.name.device] = counter.name
        let topic = TopicArea.samples + counter.name.description
        Array(topic.utf8).withUnsafeBytes { topics.add($0, counter) }
        newTopics.append(topic)
    }

    private func subscribeToNewTopics() async {
        while let topic = newTopics.popLast() {
            do {
                try await listener.subscribe(to: topic)
            } catch {
                logger.error("not subscribed", metadata: ["topic": "\(topic)", LogKey.error: "\(error)"])
            }
        }
    }

    private func refuse(_ name: StreamName, _ reason: String) {
        guard refused[name] != reason, refused.count < Self.maximumRefused else { return }
        refused[name] = reason
        logger.warning("a stream is not counted", metadata: ["stream": "\(name)", LogKey.error: "\(reason)"])
        reportRefused()
    }

    private func accept(_ name: StreamName) {
        if refused.removeValue(forKey: name) != nil { reportRefused() }
    }

    private func reportRefused() {
        guard let first = refused.min(by: { $0.key.description < $1.key.description }) else {
            return health.clear("refused")
        }
        let others = refused.count > 1 ? ", nor are \(refused.count - 1) others" : ""
        health.report(.degraded, "\(first.key) is not counted\(others): \(first.value)", for: "refused")
    }
}
