import HeapModule
package import Messages
import ZeroMQ

/// Decides which missing samples to request next, and what a reply, a refusal or silence means for them.
///
/// A pure value: time and replies in, requests out. A stream has at most one pending request; one request may cover many
/// streams, those that have waited longest. Samples are given up only if their publisher reports that they are gone, or if it
/// sent neither an answer nor a part of one for the whole limit. In all other cases they are requested again, after growing
/// pauses.
///
/// Bounded by replies, each of at most 4 MB: a reply counts until every stream in it has taken its samples, so that replies do
/// not pile up in a slow program. Publishers take turns at what is left of the bound.
package struct ReplaySchedule: Sendable {
    package struct Request: Hashable, Sendable {
        package let number: Int
        package let params: SamplesReplay
    }

    /// The next action on a publisher's connection.
    package enum Step: Hashable, Sendable {
        case send(Request)
        /// The publisher is silent, or its connection has ended: open another one. These streams must call `ask` again.
        case reconnect([Int])
        /// The time limit of these streams has passed: they must call `ask` again, which decides about them.
        case askAgain([Int])
        /// Wait for a reply, for a stream that calls `ask`, or until an instant.
        case wait(until: Int64?)
    }

    package enum Outcome: Hashable, Sendable {
        /// These of the reply's frames answer it. Call `finish` once the stream has taken them.
        case answer(SamplesReplay.Reply, frames: Range<Int>)
        case gone(Gap.Reason)
        /// Inconclusive. Call `ask` for the samples that are missing then; it waits until their time.
        case again
        /// The same, because the program that was asked is busy and can't send the samples yet.
        case later
    }

    package struct Verdict: Hashable, Sendable {
        package let stream: Int
        package let outcome: Outcome
    }

    /// A message received on a connection.
    package enum Answer: Sendable {
        case reply(SamplesReplay.Reply, frameCount: Int)
        case refusal(RequestError)
        case unreadable

        /// Whether samples are refused, for a reason other than overload.
        var isRefusal: Bool {
            switch self {
            case .reply(let reply, _): reply.ranges?.contains { $0.error.map { !$0.isBusy } ?? false } ?? false
            case .refusal(let error): !error.isBusy
            case .unreadable: false
            }
        }
    }

    private enum State {
        case idle
        case waiting
        case underWay(Int)
        /// The stream is taking the samples of the reply to a request.
        case taking(Int)
    }

    private struct Stream {
        var publisher: String
        var request: SamplesReplay
        var limit: Int64
        var state = State.idle
        /// The start of the stream's time limit, if its publisher stays silent.
        var patientSince: Int64
        /// When the stream began to wait for its current missing samples.
        var waitingSince: Int64
        var failures = 0
        var unreadableAnswers = 0
        var notBefore = Int64.min
        var refusals = ReplayRefusals()

        var isAsking: Bool {
            switch state {
            case .waiting, .underWay: true
            case .idle, .taking: false
            }
        }
    }

    private struct UnderWay {
        /// The streams in the order of the request.
        let asked: [Int]
        /// Those of them that still await the reply or take its samples, in the same order.
        var streams: [Int]
        var cost: Int
        let sentAt: Int64
        var isAnswered = false
        /// The number of later requests that were answered before this one.
        var overtaken = 0
    }

    /// A stream that waits until it may ask again.
    private struct Rest: Comparable {
        let end: Int64
        let stream: Int

        static func < (one: Rest, other: Rest) -> Bool { one.end < other.end }
    }

    private struct Publisher {
        var streams: Set<Int> = []
        var waiting: Set<Int> = []
        /// Streams whose samples may be requested, and some that no longer wait: removing those costs more than skipping them.
        var ready: Heap<Int> = []
        /// Streams in a pause, and some that no longer wait.
        var resting: Heap<Rest> = []
        /// The shortest time limit of any stream.
        var shortestLimit = ReplaySchedule.silenceLimit
        var requests: [Int: UnderWay] = [:]
        /// Whether the publisher has answered since its last silence.
        var isProven = false
        var knowsRanges = true
        var failures = 0
        var notBefore = Int64.min
        /// When the first of the requests was sent that no reply has followed.
        var unansweredSince: Int64?
        /// No stream's time limit passes before this instant.
        var nextEnd = Int64.min
        var progressAt = Int64.min
        var received = 0
        /// When bytes of a reply were last received.
        var arrivingAt = Int64.min
        /// The bytes received at an earlier step, from which those of a reply are counted, and the time of that step.
        var checked = (received: 0, at: Int64(0))
        /// Whether a request since the last step may change the next one.
        var isStale = false
        /// Whether the publisher's task was woken since its last step.
        var isWoken = false

        /// When the time limits of its streams begin; nil while it answers. A reply may take longer than a limit to arrive.
        var limitSince: Int64? {
            unansweredSince.map { max($0, min(arrivingAt, $0.addingClamped(ReplaySchedule.longestReply))) }
        }

        /// When the publisher counts as silent if it sends nothing until then; nil if it owes no reply.
        func silentFrom(patience: Int64) -> Int64? {
            let oldest = requests.values.lazy.filter { !$0.isAnswered }.map(\.sentAt).min()
            guard let oldest else { return nil }
            let longer = min(ReplaySchedule.longestPatience, patience << max(0, min(failures, 8) - 1))
            return max(progressAt, oldest) + max(patience, longer)
        }

        /// Records the number of bytes received on the publisher's connection.
        mutating func note(received: Int, now: Int64) {
            let isArriving = received - checked.received >= Requester.leastProgress
            if isArriving { arrivingAt = now }
            if isArriving || received < checked.received || now - checked.at >= ReplaySchedule.patience {
                checked = (received, now)
            }
            if received == self.received { return }
            self.received = received
            progressAt = now
        }

        /// Puts a stream in the queue, or in a pause until `end`.
        mutating func wait(_ stream: Int, until end: Int64) {
            guard waiting.insert(stream).inserted else { return }
            if end == .min { ready.insert(stream) } else { resting.insert(Rest(end: end, stream: stream)) }
        }

        /// Whether the samples of any stream are due now. If not, `until` is lowered to the next time when some may be.
        mutating func isDue(now: Int64, until: inout Int64?) -> Bool {
            while let rest = resting.min, rest.end <= now || !waiting.contains(rest.stream) {
                resting.removeMin()
                ready.insert(rest.stream)
            }
            while let first = ready.min, !waiting.contains(first) { ready.removeMin() }
            let next = ready.isEmpty ? resting.min?.end : notBefore
            if let next, next > now { until = min(until ?? next, next) }
            return !ready.isEmpty && notBefore <= now
        }

        /// Removes and returns the streams for the next request, in order.
        mutating func takeDue() -> [Int] {
            var due: [Int] = []
            while due.count < (knowsRanges ? ReplaySchedule.maximumRanges : 1), let next = ready.popMin() {
                if waiting.remove(next) != nil { due.append(next) }
            }
            return due
        }
    }

    /// The maximum number of replies of one publisher: it closes connections that leave 32 MB unread (`PeerLimits`).
    package static let maximumReplies = 4
    /// The maximum number of streams in one request: each gets at least 60 kB of the reply.
    package static let maximumRanges = 64
    /// The maximum cost of all replies together: 8 replies of publishers that answer in time.
    package static let maximumCost = 64
    private static let replyCost = 8
    /// The cost of a request to a publisher that may not answer, and of a reply that takes longer than `patience`. It is
    /// low, so that absent and slow publishers delay others less.
    private static let probeCost = 1
    /// The number of later replies that proves a request lost: publishers answer requests concurrently, in any order.
    private static let maximumOvertaken = 2 * maximumReplies
    /// The number of unreadable replies to one stream's request before its samples are given up: they may be the reason.
    package static let maximumUnreadable = 5
    /// How long a publisher that owes a reply may send nothing at all, by default, in nanoseconds.
    package static let patience: Int64 = 2_000_000_000
    private static let longestPatience: Int64 = 8_000_000_000
    /// How long a reply that is arriving may delay time limits, in nanoseconds; as long as `recorder fill` waits for one.
    private static let longestReply: Int64 = 300_000_000_000
    private static let shortestPause: Int64 = 100_000_000
    /// Short enough to catch up within seconds with a publisher that returns, in nanoseconds.
    private static let longestPause: Int64 = 2_000_000_000
    /// How long a publisher that is not heard is asked, in nanoseconds: publishers retain samples this long by default, and no
    /// live samples wait behind the missing ones.
    private static let silenceLimit: Int64 = 600_000_000_000

    private var streams: [Int: Stream] = [:]
    private var publishers: [String: Publisher] = [:]
    /// Publishers that have something to send but must wait, in order.
    private var turns: [String] = []
    private var cost = 0
    private var lastNumber = 0
    private var random: UInt64
    /// In nanoseconds; doubled after repeated failures, up to `longestPatience`, because a silent publisher may be slow.
    private let patience: Int64

    /// - Parameters:
    ///   - seed: the seed of the pauses' jitter.
    ///   - patience: how long a publisher that owes a reply may send nothing at all, in nanoseconds.
    package init(seed: UInt64, patience: Int64 = patience) {
        random = seed
        self.patience = patience
    }

    /// The number of replies of all publishers that are pending or not taken yet.
    package var replyCount: Int { publishers.values.reduce(0) { $0 + $1.requests.count } }

    // MARK: Streams

    /// Registers a request for samples that a stream misses. Streams with lower numbers have waited longer.
    /// - Parameters:
    ///   - publisher: the endpoint that the publisher announces.
    ///   - heardSince: since when the publisher is heard without a break; nil if it is not heard: then its network may be down
    ///     while it still has the samples.
    ///   - limit: how long a publisher that is heard may leave requests unanswered, in nanoseconds.
    /// - Returns: why the samples are given up at once; nil if they will be requested.
    package mutating func ask(
        _ number: Int, for request: SamplesReplay, at publisher: String, heardSince: Int64?, limit: Int64, now: Int64
    ) -> Gap.Reason? {
        finish(number)
        if let before = streams[number], before.publisher != publisher { leave(number) }
        var stream =
            streams[number]
            ?? Stream(publisher: publisher, request: request, limit: limit, patientSince: now, waitingSince: now)
        if !stream.request.isContinued(by: request) { stream = settled(stream, at: now) }
        stream.request = request
        stream.limit = limit
        // A publisher that was out of reach has a whole limit from when it is heard again.
        stream.patientSince = max(stream.patientSince, heardSince ?? now)
        if let end = end(of: stream), now >= end {
            streams[number] = settled(stream, at: now)
            publishers[publisher, default: Publisher()].streams.insert(number)
            return .publisherUnreachable
        }
        stream.state = .waiting
        streams[number] = stream
        publishers[publisher, default: Publisher()].streams.insert(number)
        publishers[publisher]?.wait(number, until: stream.notBefore)
        publishers[publisher]?.shortestLimit.lower(to: limit)
        let nextEnd = publishers[publisher]?.nextEnd
        if let end = end(of: stream) { publishers[publisher]?.nextEnd.lower(to: end) }
        let hasRoom = hasRoom(publisher)
        if hasRoom || publishers[publisher]?.nextEnd != nextEnd { publishers[publisher]?.isStale = true }
        if !hasRoom, !turns.contains(publisher) { turns.append(publisher) }
        return nil
    }

    /// Whether the caller must wake a publisher's task, because a new request may change its next step. Returns true only once
    /// before that step, because thousands of streams may ask together.
    package mutating func wakes(_ publisher: String) -> Bool {
        guard let known = publishers[publisher], known.isStale, !known.isWoken else { return false }
        publishers[publisher]?.isWoken = true
        return true
    }

    /// Records that a stream has taken the samples of its reply.
    package mutating func finish(_ number: Int) {
        guard case .taking(let request) = streams[number]?.state, let publisher = streams[number]?.publisher else {
            return
        }
        streams[number]?.state = .idle
        release(number, from: request, of: publisher)
    }

    /// Removes a stream, and its publisher if no other stream misses samples of it.
    package mutating func leave(_ number: Int) {
        finish(number)
        guard let stream = streams.removeValue(forKey: number) else { return }
        publishers[stream.publisher]?.streams.remove(number)
        publishers[stream.publisher]?.waiting.remove(number)
        if case .underWay(let request) = stream.state {
            publishers[stream.publisher]?.requests[request]?.streams.removeAll { $0 == number }
        }
        guard let publisher = publishers[stream.publisher], publisher.streams.isEmpty else { return }
        cost -= publisher.requests.values.reduce(0) { $0 + $1.cost }
        publishers[stream.publisher] = nil
        turns.removeAll { $0 == stream.publisher }
    }

    /// Whether any stream misses samples of a publisher.
    package func isWanted(_ publisher: String) -> Bool { publishers[publisher] != nil }

    /// The numbers of the requests that a publisher has not answered.
    package func unanswered(of publisher: String) -> [Int] {
        publishers[publisher]?.requests.filter { !$0.value.isAnswered }.keys.sorted() ?? []
    }

    /// The streams that await replies which take long to arrive, or a turn after them, if bytes of a reply were noticed by the
    /// publisher's step at `now`.
    package func arriving(of publisher: String, now: Int64) -> [Int] {
        guard let publisher = publishers[publisher], publisher.arrivingAt == now else { return [] }
        let slow = publisher.requests.values.filter { !$0.isAnswered && now - $0.sentAt >= Self.patience }
        return slow.isEmpty ? [] : (slow.flatMap(\.streams) + publisher.waiting).sorted()
    }

    /// The waiting publisher whose turn has come; nil if none can send.
    package var nextInTurn: String? {
        firstInTurn.flatMap { cost + requestCost(at: $0) <= Self.maximumCost ? $0 : nil }
    }

    /// The first waiting publisher with room for another reply; the others are skipped.
    private var firstInTurn: String? { turns.first { hasRoom($0) } }

    private func hasRoom(_ name: String) -> Bool {
        guard let publisher = publishers[name] else { return false }
        return publisher.requests.count < (publisher.isProven ? Self.maximumReplies : 1)
    }

    // MARK: Publishers

    /// Decides a publisher's next step.
    /// - Parameters:
    ///   - endpoint: the endpoint that is asked.
    ///   - received: the number of bytes received on the connection.
    ///   - isBroken: whether the connection has ended.
    package mutating func step(
        of name: String, at endpoint: String, received: Int, isBroken: Bool, now: Int64
    ) -> Step {
        publishers[name]?.note(received: received, now: now)
        lowerCosts(of: name, now: now)
        publishers[name]?.isStale = false
        publishers[name]?.isWoken = false
        var until = publishers[name]?.silentFrom(patience: patience)
        if let silent = until, isBroken || now >= silent { return .reconnect(fail(name, at: endpoint, now: now)) }
        if publishers[name]?.unansweredSince != nil {
            let over = overdueStreams(of: name, now: now)
            if !over.isEmpty { return .askAgain(over) }
            let end = publishers[name]?.nextEnd ?? .max
            if end < .max { until = min(until ?? end, end) }
        }
        let isDue = publishers[name]?.isDue(now: now, until: &until) ?? false
        let cost = requestCost(at: name)
        let isInTurn = self.cost + cost <= Self.maximumCost && (firstInTurn ?? name) == name
        guard isDue, hasRoom(name), isInTurn else {
            if !isDue { turns.removeAll { $0 == name } } else if !turns.contains(name) { turns.append(name) }
            return .wait(until: until)
        }
        turns.removeAll { $0 == name }
        return .send(send(to: name, cost: cost, now: now))
    }

    /// Withdraws and returns the streams whose time limit has passed.
    private mutating func overdueStreams(of name: String, now: Int64) -> [Int] {
        guard let asking = publishers[name]?.streams, now >= publishers[name]?.nextEnd ?? .max else { return [] }
        var over: [Int] = []
        var next = Int64.max
        for number in asking {
            guard let stream = streams[number], stream.isAsking, let end = end(of: stream) else { continue }
            if now >= end { over.append(number) } else { next.lower(to: end) }
        }
        publishers[name]?.nextEnd = next
        for number in over { withdraw(number) }
        return over.sorted()
    }

    private mutating func send(to name: String, cost: Int, now: Int64) -> Request {
        let due = publishers[name]?.takeDue() ?? []
        lastNumber += 1
        self.cost += cost
        for number in due { streams[number]?.state = .underWay(lastNumber) }
        publishers[name]?.requests[lastNumber] = UnderWay(asked: due, streams: due, cost: cost, sentAt: now)
        if publishers[name]?.unansweredSince == nil {
            publishers[name]?.unansweredSince = now
            if let shortest = publishers[name]?.shortestLimit {
                publishers[name]?.nextEnd = now.addingClamped(shortest)
            }
        }
        return Request(number: lastNumber, params: SamplesReplay(due.compactMap { streams[$0]?.request }))
    }

    /// Records that a publisher can't be reached, or sent a message that answers no request.
    /// - Parameter endpoint: the endpoint that was asked; nil if none was, because this program has no room for a connection.
    ///   That is not the publisher's silence, so time limits begin with the next request.
    /// - Returns: the streams that must call `ask` again: all that wait for the publisher, since the time limit of each may
    ///   have passed.
    package mutating func fail(_ name: String, at endpoint: String?, now: Int64) -> [Int] {
        guard var publisher = publishers[name] else { return [] }
        let lost = publisher.requests.filter { !$0.value.isAnswered }
        cost -= lost.values.reduce(0) { $0 + $1.cost }
        publisher.requests = publisher.requests.filter(\.value.isAnswered)
        publisher.isProven = false
        publisher.knowsRanges = true
        publisher.received = 0
        publisher.progressAt = .min
        publisher.checked = (0, now)
        backOff(&publisher, now: now)
        publisher.unansweredSince = endpoint == nil ? nil : publisher.unansweredSince ?? now
        publisher.nextEnd = .min
        let asked = lost.values.flatMap(\.streams)
        for number in asked {
            if let endpoint { streams[number]?.refusals.note(nil, at: endpoint, of: name) }
            streams[number]?.state = .idle
        }
        for number in publisher.waiting { streams[number]?.state = .idle }
        let all = (asked + publisher.waiting).sorted()
        publisher.waiting = []
        publisher.ready = []
        publisher.resting = []
        publishers[name] = publisher
        turns.removeAll { $0 == name }
        return all
    }

    /// Takes a message from a publisher.
    /// - Parameters:
    ///   - number: the request that the message answers. An answer to a request that was given up is ignored.
    ///   - endpoint: the endpoint that was asked.
    ///   - places: all endpoints of the publisher.
    package mutating func take(
        _ answer: Answer, to number: Int, of name: String, at endpoint: String, places: Set<String>, now: Int64
    ) -> [Verdict] {
        guard var publisher = publishers[name], var request = publisher.requests[number], !request.isAnswered else {
            return []
        }
        publisher.progressAt = now
        request.isAnswered = true
        publisher.requests[number] = request
        var outcomes: [Outcome] = []
        switch answer {
        case .reply(let reply, let frameCount):
            guard let found = Self.outcomes(of: reply, frameCount: frameCount, count: request.asked.count) else {
                return take(.unreadable, to: number, of: name, at: endpoint, places: places, now: now)
            }
            if reply.ranges == nil, request.asked.count > 1 { publisher.knowsRanges = false }
            publisher.unansweredSince = nil
            publisher.failures = 0
            publisher.notBefore = .min
            publisher.isProven = true
            // A stream that was withdrawn or has left takes nothing.
            let wanted = zip(request.asked, found).filter { request.streams.contains($0.0) }
            outcomes = wanted.map { stream, found in
                switch found {
                case .answer(let reply, let frames): .answer(reply, frames: frames)
                case .refusal(let error):
                    refuse(stream, error, at: endpoint, of: name, places: places, now: now)
                case .nothing: .again
                }
            }
        case .refusal(let error):
            publisher.unansweredSince = nil
            if error.isAboutStream {
                // A publisher that does not know ranges refuses only the first.
                if request.asked.count > 1 { publisher.knowsRanges = false }
                outcomes = request.streams.map { stream in
                    stream == request.asked.first
                        ? refuse(stream, error, at: endpoint, of: name, places: places, now: now) : .again
                }
            } else {
                backOff(&publisher, atLeast: error.data?.retryAfter, now: now)
                for stream in request.streams { streams[stream]?.refusals.note(error, at: endpoint, of: name) }
                outcomes = request.streams.map { _ in error.isBusy ? .later : .again }
            }
        case .unreadable:
            publisher.isProven = false
            backOff(&publisher, now: now)
            if request.asked.count > 1 { publisher.knowsRanges = false }
            outcomes = request.streams.map { stream in
                guard request.asked.count == 1 else { return .again }
                streams[stream]?.unreadableAnswers += 1
                return streams[stream]?.unreadableAnswers ?? 0 >= Self.maximumUnreadable ? .gone(.malformed) : .again
            }
        }
        var verdicts = overtaken(by: number, of: &publisher)
        publishers[name] = publisher
        for (stream, outcome) in zip(request.streams, outcomes) {
            verdicts.append(Verdict(stream: stream, outcome: outcome))
            streams[stream]?.state = .taking(number)
            switch outcome {
            case .answer, .gone: if let known = streams[stream] { streams[stream] = settled(known, at: now) }
            case .again, .later: finish(stream)
            }
        }
        if request.streams.isEmpty { end(number, of: name) }
        return verdicts
    }

    // MARK: Answers

    private enum Found {
        case answer(SamplesReplay.Reply, frames: Range<Int>)
        case refusal(RequestError)
        case nothing
    }

    /// The part of a reply for each of `count` streams; nil if the parts don't match the request or the frames.
    private static func outcomes(of reply: SamplesReplay.Reply, frameCount: Int, count: Int) -> [Found]? {
        guard let parts = reply.ranges else {
            return (0..<count).map { $0 == 0 ? .answer(reply, frames: 0..<frameCount) : .nothing }
        }
        guard parts.count == count else { return nil }
        var first = 0
        var found: [Found] = []
        for part in parts {
            guard (0...frameCount - first).contains(part.frames) else { return nil }
            found.append(
                part.error.map { .refusal($0) }
                    ?? .answer(SamplesReplay.Reply(part), frames: first..<first + part.frames))
            first += part.frames
        }
        return first == frameCount ? found : nil
    }

    /// Decides about the refusal of one stream's samples.
    private mutating func refuse(
        _ number: Int, _ error: RequestError, at endpoint: String, of name: String, places: Set<String>, now: Int64
    ) -> Outcome {
        guard var stream = streams[number] else { return .again }
        stream.refusals.note(error, at: endpoint, of: name)
        if let reason = stream.refusals.verdict(asking: places) { return .gone(reason) }
        stream.failures += 1
        stream.notBefore = now + pause(after: stream.failures, atLeast: error.data?.retryAfter)
        streams[number] = stream
        return error.isBusy ? .later : .again
    }

    private mutating func backOff(_ publisher: inout Publisher, atLeast seconds: Double? = nil, now: Int64) {
        publisher.failures += 1
        publisher.notBefore = now + pause(after: publisher.failures, atLeast: seconds)
    }

    /// Doubles with each failure up to `longestPause`; jitter spreads programs that wait for the same publisher.
    private mutating func pause(after failures: Int, atLeast seconds: Double?) -> Int64 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let pause = min(Self.longestPause, Self.shortestPause << max(0, min(failures, 8) - 1))
        // Between three and five quarters of the pause.
        let jittered = pause * 3 / 4 + Int64(random >> 33) % (pause / 2)
        guard let seconds, seconds > 0 else { return jittered }
        return max(jittered, Int64(min(seconds, 60) * 1e9) + jittered / 4)
    }

    /// Verdicts for the streams of requests that were lost on their way, while later ones were answered.
    private mutating func overtaken(by number: Int, of publisher: inout Publisher) -> [Verdict] {
        var verdicts: [Verdict] = []
        for (other, var request) in publisher.requests where other < number && !request.isAnswered {
            request.overtaken += 1
            publisher.requests[other] = request
            guard request.overtaken >= Self.maximumOvertaken else { continue }
            publisher.requests[other] = nil
            cost -= request.cost
            for stream in request.streams { streams[stream]?.state = .idle }
            verdicts += request.streams.map { Verdict(stream: $0, outcome: .again) }
        }
        return verdicts
    }

    // MARK: Bookkeeping

    /// Restarts a stream's time limits for its next missing samples.
    private func settled(_ stream: Stream, at now: Int64) -> Stream {
        var stream = stream
        stream.patientSince = now
        stream.waitingSince = now
        stream.failures = 0
        stream.unreadableAnswers = 0
        stream.notBefore = .min
        stream.refusals = ReplayRefusals()
        return stream
    }

    /// When a stream's time limit passes; nil while its publisher answers.
    private func end(of stream: Stream) -> Int64? {
        guard let silent = publishers[stream.publisher]?.limitSince else { return nil }
        return min(
            max(silent, stream.patientSince).addingClamped(stream.limit),
            max(silent, stream.waitingSince) + Self.silenceLimit)
    }

    private func requestCost(at name: String) -> Int {
        publishers[name]?.isProven == true ? Self.replyCost : Self.probeCost
    }

    /// Leaves room for other publishers while replies take long: over a slow link, that may be minutes.
    private mutating func lowerCosts(of name: String, now: Int64) {
        for (number, request) in publishers[name]?.requests ?? [:]
        where !request.isAnswered && now - request.sentAt >= Self.patience {
            cost -= request.cost - Self.probeCost
            publishers[name]?.requests[number]?.cost = Self.probeCost
        }
    }

    private mutating func withdraw(_ number: Int) {
        guard let stream = streams[number] else { return }
        publishers[stream.publisher]?.waiting.remove(number)
        if case .underWay(let request) = stream.state { release(number, from: request, of: stream.publisher) }
        streams[number]?.state = .idle
    }

    private mutating func release(_ number: Int, from request: Int, of name: String) {
        publishers[name]?.requests[request]?.streams.removeAll { $0 == number }
        guard let left = publishers[name]?.requests[request], left.isAnswered, left.streams.isEmpty else { return }
        end(request, of: name)
    }

    private mutating func end(_ request: Int, of name: String) {
        cost -= publishers[name]?.requests.removeValue(forKey: request)?.cost ?? 0
    }
}

extension Int64 {
    fileprivate mutating func lower(to value: Int64) { self = Swift.min(self, value) }
}

extension SamplesReplay {
    /// Whether `other` asks for the same samples, possibly with a different `count` because more arrived.
    fileprivate func isContinued(by other: SamplesReplay) -> Bool {
        device == other.device && stream == other.stream && epoch == other.epoch && from == other.from
    }
}

extension RequestError {
    fileprivate var isBusy: Bool { data?.reason == Reason.busy.word }

    /// Whether the error concerns one stream, and not the whole request.
    fileprivate var isAboutStream: Bool {
        [Reason.unknownStream, .unknownEpoch, .invalidParameter, .notInSource, .estimated].contains {
            data?.reason == $0.word
        }
    }
}
