import Foundation
import Testing
import ZeroMQ

@testable import PeerLimits

/// Honest and greedy peers of a replier, at random: `PEER_SEED=n` repeats one run.
struct RandomPeersTests {
    @Test func greedyPeersAreCutAndHonestOnesAreNot() {
        let given = ProcessInfo.processInfo.environment["PEER_SEED"].flatMap { UInt64($0) }
        for seed in given.map({ $0...$0 }) ?? 1...100 { run(seed) }
    }

    private func run(_ seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var limits = PeerLimits.replying
        limits.maximumConnections = 8
        var table = ConnectionTable(pattern: .reply, limits: limits)
        var now: Int64 = 0
        /// The bytes that each peer has sent, and those that no complete request contains yet.
        var peers: [Int32: (isGreedy: Bool, sent: Int, unfinished: Int)] = [:]
        var cut: Set<Int32> = []
        func name() -> Int32? { (Int32(5)..<40).filter { peers[$0] == nil }.randomElement(using: &random) }

        for _ in 0..<400 {
            now += Int64.random(in: 1_000_000...60_000_000, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0, let descriptor = name() {
                let honest = peers.values.count { !$0.isGreedy }
                peers[descriptor] = (honest >= 4 || Bool.random(using: &random), 0, 0)
                table.open(descriptor, isIncoming: true, at: now)
                while let excess = table.excess(at: now, received: { peers[$0]?.sent }) {
                    // A later peer never displaces one that was connected before.
                    #expect(peers[excess]?.sent ?? 0 <= 64 || excess == descriptor, "seed \(seed)")
                    cut.insert(excess)
                }
            }
            var traffic = SocketTraffic()
            for descriptor in peers.keys.sorted() {
                guard var peer = peers[descriptor], !cut.contains(descriptor) else { continue }
                if peer.isGreedy {
                    let bytes = Int.random(in: 0...400_000, using: &random)
                    peer.sent += bytes
                    peer.unfinished += bytes
                } else {
                    let bytes = Int.random(in: 100...100_000, using: &random)
                    peer.sent += bytes
                    traffic.take(bytes: bytes, from: descriptor)
                }
                peers[descriptor] = peer
            }
            // Greedy peers never finish a message, so nothing else waits.
            traffic.isDrained = true
            let readings = peers.mapValues {
                ConnectionHandle.Reading(received: $0.sent, acknowledged: 0, isAllSent: true)
            }
            let verdict = table.judge(readings, traffic: traffic, at: now)
            for descriptor in verdict.keys {
                #expect(peers[descriptor]?.isGreedy == true, "seed \(seed)")
                cut.insert(descriptor)
            }
            let left = peers.filter { !cut.contains($0.key) }
            let forgotten = Int(now / 1_000_000_000 + 1) * limits.forgottenPerSecond
            #expect(
                left.values.reduce(0) { $0 + max(0, $1.unfinished - forgotten) } <= limits.totalUnfinishedBytes,
                "seed \(seed)")
            #expect(left.count <= limits.maximumConnections, "seed \(seed)")
            for descriptor in cut.sorted() {
                peers[descriptor] = nil
                table.close(descriptor, at: now)
            }
            cut = []
        }
    }
}

/// SplitMix64.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
