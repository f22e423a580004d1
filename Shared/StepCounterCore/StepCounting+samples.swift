import Logging
package import MessageBus
package import Messages
import ServiceKit

/// Input: batches of samples and descriptions of streams.
extension StepCounting {
    /// The most uncountable streams to remember: an unknown publisher could use ever new names.
    private static let maximumRefused = 4_096

    /// Takes an event.
    /// - Returns: the description, if the event was one.
    /// - Throws: `MessageError` or `DecodingError` for an unreadable event.
    package func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription? {
        if let counter = counter(of: frames.topic) {
            let body = try counter.reader.read(frames.body)
            try take(ReceivedBatch(body, frames.body, packed: frames.packed), by: counter, at: now)
            if let published = EventTime.time(in: frames.time) {
                delays.record(nanoseconds: now.date.distance(from: published))
            }
        } else if frames.isIn(TopicArea.stream) {
            heard = now.monotonic
            guard isWanted(frames.topic) else { return nil }
            let description = try descriptions.read(frames)
            take(description, at: now)
            return description
        }
        return nil
    }

    /// The counter for the batches of a topic; nil for other topics.
    package func counter(of topic: UnsafeRawBufferPointer) -> DeviceCounter? { topics.value(of: topic) }

    func counter(of stream: StreamName) -> DeviceCounter? {
        counters[stream.device].flatMap { $0.name == stream ? $0 : nil }
    }

    package func take(
        _ batch: ReceivedBatch, by counter: DeviceCounter, at now: Moment
    ) throws(MessageError) {
        if isStopping { return }
        let isMissing = try counter.take(batch, at: now)
        finish(counter, isMissing: isMissing, at: now)
    }

    /// Announces a counter's findings, and requests its missing samples.
    func finish(_ counter: DeviceCounter, isMissing: Bool, at now: Moment) {
        if counter.hasFound { announce(counter, at: now) }
        guard isMissing, !counter.isRecovering else { return }
        counter.isRecovering = true
        emit(.recover(counter.name))
    }

    /// Whether a description may be of a stream to count.
    private func isWanted(_ topic: UnsafeRawBufferPointer) -> Bool {
        settings.streams.contains { name in
            topic.count > name.utf8.count && topic.suffix(name.utf8.count).elementsEqual(name.utf8)
        }
    }

    /// Takes a publisher's description of a stream.
    package func take(_ description: StreamDescription, at now: Moment) {
        heard = now.monotonic
        let name = description.name
        guard !isStopping, settings.streams.contains(name.stream) else { return }
        do throws(MessageError) {
            guard StreamName(name.description) == name else {
                throw MessageError(
                    .malformed, "it is not a stream's name: a device and a stream, without further slashes")
            }
            let layout = try AccelerationLayout(description.fields, description.types)
            let detector = settings.detector(of: name.device, unit: try unit(of: description))
            let counter: DeviceCounter
            if let known = self.counter(of: name) {
                counter = known
            } else {
                let isLate = try checkPlace(for: name, at: now)
                let position = stored.removeValue(forKey: name)
                let isKnown = isKnown(name.device) || position != nil || isLate
                counter = DeviceCounter(
                    description, layout, detector, stored: position,
                    spans: storedSpans.removeValue(forKey: name.device) ?? [], isLate: isLate, held: held, at: now)
                add(counter)
                if !isKnown {
                    publish(.appear, of: name.device, at: counter.clock.date) { $0.stream = name }
                }
            }
            let isMissing = counter.describe(description, layout, detector, at: now)
            finish(counter, isMissing: isMissing, at: now)
            if refused.removeValue(forKey: name) != nil { reportRefused() }
        } catch {
            refuse(name, error.message, at: now)
        }
    }

    private func unit(of description: StreamDescription) throws(MessageError) -> AccelerationUnit {
        guard let text = description.unit else {
            guard let unit = settings.device(description.device).unit else {
                throw MessageError(
                    .missingField,
                    "it has no unit: start its publisher with --unit g or m/s2, or step-counter with --unit")
            }
            return unit
        }
        guard let unit = AccelerationUnit(text) else {
            throw MessageError(.wrongType, "its unit is '\(text.prefix(32))': an acceleration is measured in g or m/s2")
        }
        return unit
    }

    /// Refuses a stream of a device that is counted in another stream, and devices beyond the limit.
    /// - Returns: whether the device was counted only in other streams before this program started.
    private func checkPlace(for name: StreamName, at now: Moment) throws(MessageError) -> Bool {
        if let other = counters[name.device]?.name {
            throw MessageError(
                .outOfRange, "\(other) is counted: name only the stream to count with --stream")
        }
        guard devices.count < settings.maximumDevices else {
            throw MessageError(
                .outOfRange,
                "\(settings.maximumDevices) devices are counted, and no more are accepted: raise --maximum-devices, or let "
                    + "another step-counter with a data directory of its own listen to some of the publishers")
        }
        let others = stored.keys.filter { $0.device == name.device && $0 != name }
            .sorted { $0.description < $1.description }
        let isLate = stored[name] == nil && !others.isEmpty
        // An earlier stream may be described at any moment, unless --stream no longer names it.
        if isLate, let before = others.first(where: { settings.streams.contains($0.stream) }),
            now.monotonic <= startedAt.monotonic + StreamDescription.life
        {
            throw MessageError(.outOfRange, "\(before) was counted before, and is waited for")
        }
        for other in others { stored[other] = nil }
        pending.abandoned.formUnion(others)
        return isLate
    }

    private func add(_ counter: DeviceCounter) {
        counters[counter.name.device] = counter
        counter.eventSequence = strangers.removeValue(forKey: counter.name.device) ?? 0
        devices.append(counter)
        let topic = TopicArea.samples + counter.name.description
        Array(topic.utf8).withUnsafeBytes { topics.add($0, counter) }
        emit(.subscribe(topic))
    }

    // MARK: Refused streams

    private func refuse(_ name: StreamName, _ reason: String, at now: Moment) {
        if refused[name]?.reason == reason {
            refused[name]?.heard = now.monotonic
        } else if refused.count < Self.maximumRefused {
            refused[name] = Refusal(reason: reason, heard: now.monotonic)
            emit(.log(.warning, "a stream is not counted", ["stream": "\(name)", LogKey.error: "\(reason)"]))
            reportRefused()
        }
    }

    func reportRefused() {
        guard let first = refused.min(by: { $0.key.description < $1.key.description }) else {
            return emit(.warn(nil, for: "refused"))
        }
        let others = refused.count > 1 ? ", nor are \(refused.count - 1) others" : ""
        emit(.warn("\(first.key) is not counted\(others): \(first.value.reason)", for: "refused"))
    }
}
