import Logging
import Messages
import SampleSources
import ServiceKit

/// Samples without numbers, from datagrams and phyphox. This program numbers them by their times.
///
/// A sample that is not later than the one before is a duplicate or too late. If the stream's samples are evenly spaced, missing
/// ones become a gap of their estimated number: nothing else shows a loss. Among samples without times of their own, no loss can
/// be seen: each one that arrives is new, and a pause between them may be the network's.
extension Publication {
    /// How far an overtaken message's times may be before earlier ones, in nanoseconds. Beyond that, the device has another
    /// clock, such as that of a restarted phone.
    private static func furthestBack(_ clock: UnnumberedSamples.Clock) -> Int64 {
        (clock == .date ? 60 : 5) * Nanoseconds.perSecond
    }

    func push(_ samples: UnnumberedSamples, as request: Int, at now: Moment) throws(PushRefusal) {
        let device = settings.phones[samples.device]?.name ?? samples.device
        var isNew = false
        var clocks: [UnnumberedSamples.Clock: PushState.DeviceClock] = [:]
        for part in samples.parts {
            let name = StreamName(device: device, stream: part.stream)
            let (stream, input, run) = try unnumberedStream(part, named: name, at: now)
            let clock =
                clocks[part.clock] ?? clock(part.clock, of: device, newest: samples.newest(on: part.clock), at: now)
            clocks[part.clock] = clock
            isNew = publish(part, by: clock, run, stream, input, at: now) || isNew
        }
        accept(request, again: !isNew && !samples.parts.isEmpty)
    }

    private func unnumberedStream(
        _ part: UnnumberedSamples.Part, named name: StreamName, at now: Moment
    ) throws(PushRefusal) -> (PublishedStream, PushedInput, PushState.UnnumberedRun) {
        guard pushes.unnumbered[name] != nil || !pushes.names.contains(name) else {
            throw PushRefusal(
                .conflict, "\(name) is pushed by a client that numbers what it sends: choose another name")
        }
        let known = indexes[name].map { streams[$0] }
        if let known {
            try requireRunning(known)
            if let input = known.sampler as? PushedInput, let run = pushes.unnumbered[name],
                input.hasFields(of: part.rows)
            {
                return (known, input, run)
            }
        }
        let input = PushedInput(
            fields: part.rows.fields, types: nil, unit: part.unit, rate: nil, description: part.description,
            at: now.monotonic)
        let stream = try begin(name, input, epoch: ownEpoch(of: known), next: known?.nextSequence ?? 0, at: now)
        let run = pushes.unnumbered[name] ?? PushState.UnnumberedRun()
        pushes.unnumbered[name] = run
        return (stream, input, run)
    }

    /// - Returns: whether any of the samples was new.
    private func publish(
        _ part: UnnumberedSamples.Part, by clock: PushState.DeviceClock, _ run: PushState.UnnumberedRun,
        _ stream: PublishedStream, _ input: PushedInput, at now: Moment
    ) -> Bool {
        if run.clock != clock {
            // The times of another clock say nothing about duplicates and losses.
            (run.clock, run.last, run.losses) = (clock, nil, LossEstimate())
            input.forgetTimes()
        }
        let isTimed = part.clock != .arrival
        let rows = isTimed ? part.rows.sorted(after: run.last) : part.rows.spaced(after: run.last)
        guard let newest = rows.times.last else { return false }
        run.last = newest
        var first = 0
        for (row, time) in rows.times.enumerated() where isTimed {
            let missing = run.losses.missing(before: time)
            guard missing > 0 else { continue }
            if row > first { publish(rows, first..<row, of: stream, input, by: clock.client, at: now) }
            stream.skip(to: stream.nextSequence + missing, .estimated)
            input.noteGap()
            first = row
        }
        publish(rows, first..<rows.count, of: stream, input, by: clock.client, at: now)
        return true
    }

    /// The conversion of a device's times to this machine's: the same for all its streams, until the device has another clock.
    /// - Parameter newest: the message's latest time on this clock, over all streams: a sensor that changes rarely has old times.
    private func clock(
        _ kind: UnnumberedSamples.Clock, of device: String, newest: Int64, at now: Moment
    ) -> PushState.DeviceClock {
        guard kind != .arrival else {
            return PushState.DeviceClock(client: ClientClock(), number: 0, newest: 0)
        }
        let key = PushState.ClockKey(device: device, clock: kind)
        // Times that jump back belong to another clock of the device.
        let same = pushes.deviceClocks[key].flatMap { newest < $0.newest - Self.furthestBack(kind) ? nil : $0 }
        if var known = same {
            note(newest: newest, sentAt: nil, on: known.client, at: now)
            known.newest = max(known.newest, newest)
            pushes.deviceClocks[key] = known
            return known
        }
        if pushes.deviceClocks.count >= PushState.maximumStreams { pushes.deviceClocks = [:] }
        pushes.clocksBegun += 1
        let client = clock(newest: newest, sentAt: nil, at: now)
        let clock = PushState.DeviceClock(
            client: client, number: pushes.clocksBegun, newest: newest)
        pushes.deviceClocks[key] = clock
        return clock
    }
}
