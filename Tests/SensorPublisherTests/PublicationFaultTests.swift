import FoundationEssentials
import Messages
import PublisherCore
import SampleSources
import ServiceKit
import TestSupport
import Testing

/// A publisher in virtual time under stalls, sleeps, clock jumps, slow and failing sources, requests and kills, all decided by a
/// seed.
///
/// A failure names its seed. To repeat it, set `HOLDFAST_TEST_SEED=7`.
@Suite(.timeLimit(.minutes(1)))
struct PublicationFaultTests {
    static let seeds =
        ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap(UInt64.init).map { [$0] }
        ?? Array(1...100)

    @Test(arguments: seeds) func whateverHappensNoSampleIsLostOrLate(seed: UInt64) throws {
        var (one, other) = (try PublisherTrial(seed: seed), try PublisherTrial(seed: seed))
        #expect(try one.run() == other.run(), "the same happens again")
    }
}

/// One run of a publisher that is killed and restarted, and the invariants it must keep.
private struct PublisherTrial {
    /// The faults of this run; each kind is left out of some runs.
    struct Faults {
        let stalls, sleeps, jumps, slowReads, kills: Bool

        init(using coin: Coin) {
            stalls = coin.flip()
            sleeps = coin.flip()
            jumps = coin.flip()
            slowReads = coin.flip()
            kills = coin.flip()
        }
    }

    final class Coin {
        var random: SplitMix

        init(seed: UInt64) { random = SplitMix(seed: seed) }

        func flip(_ chance: Double = 0.5) -> Bool { random.unit() < chance }
        func pick<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> Number {
            .random(in: range, using: &random)
        }
    }

    /// The known state of a stream in this epoch.
    struct Ledger {
        var rows: [Double] = []
        var columns = 1
        var next: Int64 = 0
        var descriptions = 0
        /// The time of the last start, and the sequence number then; nil unless the stream should be running.
        var started: (at: Int64, sequence: Int64)?
    }

    private static let pause = Publication.shortestPause
    private let coin: Coin
    private let faults: Faults
    private let configurations: [StreamConfiguration]
    /// nil for standard input.
    private let scripts: [ScriptedSource?]
    private let startsStopped: Bool
    private let retention: Int64
    private let retentionBytes: Int
    private var publisher: VirtualPublisher
    private var epochs = 1
    private var ledgers: [Ledger] = []
    private var checked = 0
    /// The batches that must be kept within the byte limit, oldest first.
    private var kept: [(stream: Int, first: Int64, count: Int, bytes: Int, at: Int64)] = []
    private var keptBytes = 0
    private var forgotten: Set<Int> = []
    private var hash: UInt64 = 0

    init(seed: UInt64) throws {
        let coin = Coin(seed: seed)
        self.coin = coin
        faults = Faults(using: coin)
        startsStopped = coin.flip(0.2)
        retention = coin.pick(500_000_000...10_000_000_000)
        retentionBytes = coin.pick(3_000...100_000)
        let live = coin.flip(0.3) ? coin.pick(0...4) : -1
        scripts = (0..<coin.pick(1...6)).map { index in
            if index == live { return nil }
            return ScriptedSource(
                interval: coin.pick(500_000...200_000_000), isRegular: coin.flip(0.7),
                length: coin.flip(0.3) ? coin.pick(0...100) : nil, fails: coin.flip())
        }
        configurations = try scripts.enumerated().map { index, script in
            try StreamConfiguration(
                device: "d\(index)", stream: "s", source: script == nil ? .stdin(.csv) : .signal("sine"),
                batch: coin.pick(1...20), isPacked: coin.flip(), speed: script == nil || coin.flip(0.8) ? 1 : 3.5)
        }
        publisher = try VirtualPublisher(
            configurations, sources: scripts, epoch: "0", retention: retention, retentionBytes: retentionBytes,
            startsStopped: startsStopped)
    }

    /// - Returns: a hash of everything that happened.
    mutating func run() throws -> UInt64 {
        try restart()
        for _ in 0..<coin.pick(20...150) {
            try step()
            try check()
            if publisher.isDead { try restart() }
        }
        try end()
        return hash ^ publisher.digest
    }

    private mutating func restart() throws {
        hash = (hash ^ publisher.digest) &* 1_099_511_628_211
        let (now, slept) = (publisher.now, publisher.slept)
        epochs += 1
        publisher = try VirtualPublisher(
            configurations, sources: scripts, epoch: "\(epochs)", retention: retention, retentionBytes: retentionBytes,
            startsStopped: startsStopped, at: now.monotonic)
        publisher.now = now
        publisher.slept = slept
        let (coin, areSlow) = (coin, faults.slowReads)
        publisher.readsAtOnce = { !areSlow || coin.flip(0.7) }
        let start = startsStopped ? nil : Optional((at: now.monotonic - now.monotonic % 1_000, sequence: Int64(0)))
        ledgers = scripts.map { _ in Ledger(started: start) }
        (checked, kept, keptBytes, forgotten) = (0, [], 0, [])
        publisher.begin()
        try check()
    }

    private mutating func step() throws {
        let stream = coin.pick(0...scripts.count - 1)
        let name = configurations[stream].name
        switch coin.pick(0...15) {
        case 0 where faults.stalls: publisher.pass(to: publisher.now.monotonic + coin.pick(0...5_000_000_000))
        case 1 where faults.sleeps: publisher.slept += coin.pick(0...1) * coin.pick(0...3_600_000_000_000)
        case 2 where faults.jumps:
            publisher.now.date.nanosecondsSince1970 += coin.pick(-3_600_000_000_000...3_600_000_000_000)
        case 3 where faults.kills: publisher.effectsToLive = coin.pick(0...40)
        case 4:
            let list = publisher.list(coin.flip() ? nil : ["d\(stream)/"])
            if !publisher.isDead, publisher.answers[list] != nil {
                try check()
                for description in try publisher.descriptions(list) {
                    let index = try #require(configurations.firstIndex { $0.name == description.name })
                    #expect(description.nextSequence == Int(ledgers[index].next))
                    checkTaken(index)
                }
            }
        case 5: try start(stream, name)
        case 6:
            let stop = publisher.stop(name)
            if publisher.isDead || publisher.refusal(stop) != nil { break }
            guard publisher.answers[stop] != nil else {
                ledgers[stream].started = nil
                break
            }
            try check()
            checkTaken(stream)
            ledgers[stream].started = nil
            #expect(try publisher.descriptions(stop).map(\.nextSequence) == [Int(ledgers[stream].next)])
        case 7:
            guard publisher.request > 0 else { break }
            let request = coin.pick(1...publisher.request)
            guard publisher.answers[request] == nil else { break }
            publisher.core.forget(request)
            forgotten.insert(request)
        case 8...9: try checkReplay(of: stream)
        case 10 where publisher.core.live != nil:
            let lines = (0..<coin.pick(1...9)).map { "\(coin.pick(0...999)),\($0)\n" }.joined()
            publisher.type(coin.flip(0.1) ? "oops\n" : lines)
        case 11 where !publisher.waitingReads.isEmpty:
            publisher.deliver(coin.pick(0...publisher.waitingReads.count - 1))
        default:
            publisher.run(until: publisher.now.monotonic + coin.pick(0...400_000_000))
            if !publisher.isDead, !faults.slowReads { for index in scripts.indices { checkInTime(index) } }
        }
        if publisher.core.live != nil, publisher.published.isEmpty { publisher.type("a,b\n") }
    }

    private mutating func start(_ stream: Int, _ name: StreamName) throws {
        let start = publisher.start(name)
        if publisher.refusal(start) != nil { return }
        guard publisher.answers[start] != nil else {
            ledgers[stream].started = nil
            return
        }
        let time = publisher.now.monotonic
        let sequence = try #require(try publisher.descriptions(start).first).nextSequence
        ledgers[stream].started = (time - time % 1_000, Int64(sequence))
    }

    /// Ends all faults; then every request is answered, and the program ends.
    private mutating func end() throws {
        publisher.readsAtOnce = { true }
        publisher.effectsToLive = nil
        while !publisher.waitingReads.isEmpty { publisher.deliver(0) }
        publisher.run(seconds: 10)
        try check()
        for request in 0..<publisher.request where !forgotten.contains(request + 1) {
            #expect(publisher.answers[request + 1] != nil, "request \(request + 1) is answered")
        }
        for index in scripts.indices {
            checkInTime(index)
            try checkReplay(of: index)
        }
        publisher.finish()
        publisher.run(seconds: 4)
        try check()
        #expect(publisher.isFinished)
        for (heard, ledger) in zip(publisher.heard, ledgers) {
            guard let last = heard.descriptions.last else { continue }
            #expect(last.state != .running)
            #expect(last.nextSequence == Int(ledger.next))
        }
    }

    // MARK: Invariants

    /// Checks all publications since the last call.
    private mutating func check() throws {
        for (stream, batch, at) in publisher.published[checked...] {
            #expect(batch.firstSequence == ledgers[stream].next, "sequences follow one another")
            ledgers[stream].next += Int64(batch.count)
            ledgers[stream].columns = batch.columns
            ledgers[stream].rows += batch.rows
            if configurations[stream].speed == 1, scripts[stream] != nil {
                let uptimes = stride(from: 0, to: batch.rows.count, by: batch.columns).map { batch.rows[$0] }
                #expect(uptimes.allSatisfy { $0 <= Double(at) / 1e9 }, "no sample comes before its time")
            }
            let bytes = batch.rows.count * 8 + RetentionBuffer.overhead
            kept.append((stream, batch.firstSequence, batch.count, bytes, at))
            keptBytes += bytes
            while keptBytes > retentionBytes { keptBytes -= kept.removeFirst().bytes }
        }
        checked = publisher.published.count
        #expect(publisher.core.retainedBytes <= retentionBytes)
        for index in scripts.indices {
            let descriptions = publisher.heard[index].descriptions
            for description in descriptions[ledgers[index].descriptions...] {
                #expect(description.sequence == ledgers[index].descriptions)
                #expect((description.state == .failed) == (description.reason != nil))
                ledgers[index].descriptions += 1
            }
        }
        if faults.stalls || faults.slowReads { return }
        #expect(publisher.core.lateness.maximum <= Self.pause + 10_000_000 * (publisher.core.live == nil ? 0 : 1))
    }

    /// Checks that all samples of a regular source up to this moment were published.
    private func checkTaken(_ stream: Int) {
        guard let (script, began) = regular(stream) else { return }
        let published = Int(ledgers[stream].next - began.sequence)
        #expect(published == script.count(after: publisher.now.monotonic - began.at), "stream \(stream)")
    }

    /// Checks that all full batches of a regular source were published, except those of the last half millisecond.
    private func checkInTime(_ stream: Int) {
        guard let (script, began) = regular(stream) else { return }
        let due = script.count(after: publisher.now.monotonic - Self.pause - began.at)
        let batch = configurations[stream].batchSize(rate: nil)
        let whole = due == script.length ? due : due / batch * batch
        let published = publisher.heard[stream].batches.last.map { Int($0.firstSequence) + $0.count } ?? 0
        #expect(published - Int(began.sequence) >= whole, "stream \(stream)")
    }

    private func regular(_ stream: Int) -> (ScriptedSource, (at: Int64, sequence: Int64))? {
        guard let script = scripts[stream], script.isRegular, configurations[stream].speed == 1,
            let started = ledgers[stream].started
        else { return nil }
        return (script, started)
    }

    /// Checks that a replay returns all kept samples, exact to the bit, and reports none of them as gone.
    private mutating func checkReplay(of stream: Int) throws {
        if publisher.isDead { return }
        try check()
        let ledger = ledgers[stream]
        var request = SamplesReplay(
            device: configurations[stream].device, stream: "s", epoch: "\(epochs - 1)", from: 0, count: 1)
        guard let epoch = publisher.heard[stream].descriptions.first?.epoch else { return }
        let old = #expect(throws: RequestError.self) { try publisher.replay(request) }
        #expect(old?.data?.reason == "unknownEpoch")

        request.epoch = epoch
        request.from = Int(coin.pick(0...ledger.next + 3))
        request.count = coin.pick(1...200)
        let young = kept.filter { $0.stream == stream && publisher.now.monotonic - $0.at <= retention }
        let from = young.first?.first ?? ledger.next
        var isSweep = false
        while true {
            let (reply, batches) = try publisher.replay(request)
            #expect(reply.last == Int(ledger.next) - 1)
            #expect(reply.first <= Int(from), "what is kept is not said to be gone")
            let end = min(request.from + request.count, Int(ledger.next))
            if request.from >= Int(from), request.from < end {
                #expect(reply.from == request.from)
                #expect(reply.count == end - request.from)
            }
            #expect(batches.reduce(0) { $0 + $1.rows.count } == reply.count)
            let first = reply.count > 0 ? reply.from : 0
            let expected = ledger.rows[first * ledger.columns..<(first + reply.count) * ledger.columns]
            let found = batches.flatMap(\.rows).joined()
            #expect(found.map(\.bitPattern) == expected.map(\.bitPattern))
            // Then all samples that must be kept.
            if isSweep || young.isEmpty { return }
            isSweep = true
            (request.from, request.count) = (Int(from), Int(ledger.next - from))
        }
    }
}
