import MessageBus
import Messages

/// A listener's stream, as seen by the replay of its missing samples.
struct ReplayedStream {
    let missing: () -> MissingSamples?
    let heardSince: () -> Int64?
    let take: (SamplesReplay.Reply, ArraySlice<[UInt8]>, SamplesReplay) -> Bool
    let giveUp: (SamplesReplay, Gap.Reason) -> Bool
    var putOff: () -> Void = {}
}

/// Requests missing samples from publishers in virtual time, with the real client's decisions from `ReplaySchedule`.
final class SimulatedReplayClient {
    /// The functions that a listener's program provides.
    struct Program {
        /// Schedules a closure, unless the program has ended by then.
        let later: (ClosedRange<Int64>, @escaping () throws -> Void) -> Void
        /// Nanoseconds of the machine's monotonic clock.
        let now: () -> Int64
        /// Sends a request to an endpoint. The completion handler gets nil if the connection breaks, and is never called if the
        /// request or its answer is lost.
        let send:
            (String, SamplesReplay, @escaping ((answer: ReplaySchedule.Answer, frames: [[UInt8]])?) throws -> Void) ->
                Void
        /// How long, in nanoseconds, a publisher that is heard may leave requests unanswered.
        let limit: Int64
        /// Whether an answer is to arrive a second time, when other samples may be missing.
        let isRepeated: () -> Bool
    }

    private struct Link {
        var connection = 0
        var isBroken = false
        /// The earliest scheduled step.
        var wake: (time: Int64, number: Int)?
    }

    private let program: Program
    private var schedule: ReplaySchedule
    private var asking: [Int: (stream: ReplayedStream, request: SamplesReplay)] = [:]
    private var links: [String: Link] = [:]
    private var lastStream = 0
    private var lastWake = 0

    init(seed: UInt64, _ program: Program) {
        self.program = program
        schedule = ReplaySchedule(seed: seed)
    }

    // MARK: Streams

    /// Requests a stream's missing samples until none is missing.
    func recover(_ stream: ReplayedStream) {
        lastStream += 1
        ask(lastStream, stream, isUnanswered: false)
    }

    private func ask(_ number: Int, _ stream: ReplayedStream, isUnanswered: Bool) {
        program.later(0...20_000_000) { [self] in
            guard let missing = stream.missing() else { return leave(number) }
            let heardSince = isUnanswered ? stream.heardSince() : .min
            let reason = schedule.ask(
                number, for: missing.request, at: missing.endpoint, heardSince: heardSince, limit: program.limit,
                now: program.now())
            if let reason {
                giveUp(missing.request, reason, number, stream)
            } else {
                asking[number] = (stream, missing.request)
                // Several steps of one moment become one.
                plan(missing.endpoint, at: program.now())
            }
            wakeNext()
        }
    }

    private func giveUp(_ request: SamplesReplay, _ reason: Gap.Reason, _ number: Int, _ stream: ReplayedStream) {
        conclude(number, stream, isMore: stream.giveUp(request, reason))
        repeatLater { _ = stream.giveUp(request, reason) }
    }

    private func repeatLater(_ body: @escaping () -> Void) {
        if program.isRepeated() { program.later(1_000_000...3_000_000_000, body) }
    }

    private func conclude(_ number: Int, _ stream: ReplayedStream, isMore: Bool, isUnanswered: Bool = false) {
        schedule.finish(number)
        if isMore { ask(number, stream, isUnanswered: isUnanswered) } else { leave(number) }
        wakeNext()
    }

    private func leave(_ number: Int) {
        schedule.leave(number)
        wakeNext()
    }

    private func wakeNext() {
        if let next = schedule.nextInTurn { plan(next, at: program.now()) }
    }

    // MARK: Publishers

    private func plan(_ publisher: String, at time: Int64) {
        if let planned = links[publisher]?.wake, planned.time <= time { return }
        lastWake += 1
        links[publisher, default: Link()].wake = (time, lastWake)
        let delay = max(0, time - program.now())
        program.later(delay...delay) { [self, number = lastWake] in
            guard links[publisher]?.wake?.number == number else { return }
            links[publisher]?.wake = nil
            step(publisher)
        }
    }

    private func step(_ publisher: String) {
        while schedule.isWanted(publisher) {
            if links[publisher]?.isBroken == true, schedule.unanswered(of: publisher).isEmpty {
                disconnect(publisher)
            }
            let step = schedule.step(
                of: publisher, at: publisher, received: 0, isBroken: links[publisher]?.isBroken ?? false,
                now: program.now())
            switch step {
            case .send(let request): send(request, to: publisher)
            case .wait(let until):
                if let until { plan(publisher, at: max(until, program.now() + 1)) }
                return wakeOthers(than: publisher)
            case .askAgain(let streams): askAgain(streams)
            case .reconnect(let streams):
                disconnect(publisher)
                askAgain(streams)
            }
        }
        links[publisher]?.isBroken = false
    }

    private func wakeOthers(than publisher: String) {
        if let next = schedule.nextInTurn, next != publisher { plan(next, at: program.now()) }
    }

    private func disconnect(_ publisher: String) {
        links[publisher]?.connection += 1
        links[publisher]?.isBroken = false
    }

    private func askAgain(_ streams: [Int]) {
        for number in streams {
            guard let (stream, _) = asking.removeValue(forKey: number) else { continue }
            conclude(number, stream, isMore: true, isUnanswered: true)
        }
    }

    private func send(_ request: ReplaySchedule.Request, to publisher: String) {
        let connection = links[publisher]?.connection
        program.send(publisher, request.params) { [self] arrival in
            // Messages over a closed connection are not received.
            guard links[publisher]?.connection == connection else { return }
            if let (answer, frames) = arrival {
                take(answer, frames[...], to: request.number, from: publisher)
            } else {
                links[publisher]?.isBroken = true
            }
            step(publisher)
        }
    }

    private func take(
        _ answer: ReplaySchedule.Answer, _ frames: ArraySlice<[UInt8]>, to number: Int, from publisher: String
    ) {
        let verdicts = schedule.take(
            answer, to: number, of: publisher, at: publisher, places: [publisher], now: program.now())
        for verdict in verdicts {
            guard let (stream, request) = asking.removeValue(forKey: verdict.stream) else { continue }
            switch verdict.outcome {
            case .answer(let reply, let range):
                // The stream takes the samples when the engine has time.
                program.later(0...5_000_000) { [self] in
                    conclude(verdict.stream, stream, isMore: stream.take(reply, frames[range], request))
                    repeatLater { _ = stream.take(reply, frames[range], request) }
                }
            case .gone(let reason): giveUp(request, reason, verdict.stream, stream)
            case .again, .later:
                if verdict.outcome == .later { stream.putOff() }
                conclude(verdict.stream, stream, isMore: true, isUnanswered: true)
            }
        }
    }
}
