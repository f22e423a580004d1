import Messages
import Recording
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JournalDigestTests {
    private struct Place: Hashable {
        let epoch: String
        let next: Int
    }

    /// Where a log goes on, by the rule of recovery: the line with the greatest index that the file is long enough for,
    /// and before it the latest line of each epoch.
    private func places(_ entries: [JournalEntry], of log: LogName, segment: Int, length: Int) -> Set<Place>? {
        let own = entries.filter { $0.log == log && $0.segment <= segment }.sorted { $0.index < $1.index }
        guard let base = own.lastIndex(where: { $0.segment < segment || $0.bytes <= length }) else { return nil }
        var places: [String: Int] = [:]
        for entry in own[...base] { places[entry.epoch] = entry.next }
        return Set(places.map { Place(epoch: $0.key, next: $0.value) })
    }

    /// Those lines that no later one is about a place before.
    private func valid(_ entries: [JournalEntry]) -> [JournalEntry] {
        entries.filter { entry in
            !entries.contains {
                $0.log == entry.log && $0.index > entry.index
                    && ($0.segment, $0.bytes) < (entry.segment, entry.bytes)
            }
        }
    }

    /// Whatever is forgotten: with what is left, a file of any length behind the last commit goes on in the same place.
    @Test(arguments: [UInt64(1), 2, UInt64.random(in: 0 ... .max)])
    func whatIsForgottenIsNotNeeded(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let logs = [LogName("a"), LogName("b")]
        for _ in 0..<100 {
            var digest = JournalDigest()
            var all: [JournalEntry] = []
            /// Commits that were decided and are not written yet.
            var late: [JournalEntry] = []
            var state = Dictionary(uniqueKeysWithValues: logs.map { ($0, (index: 0, segment: 0, bytes: 0, next: 0)) })
            func write(_ entry: JournalEntry) {
                all.append(entry)
                digest.add(entry)
            }
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                let log = logs[Int.random(in: 0..<2, using: &random)]
                var now = try #require(state[log])
                now.index += 1
                now.bytes += Int.random(in: 0...50, using: &random)
                now.next += Int.random(in: 0...10, using: &random)
                let commit = all.filter { $0.log == log && $0.kind == .commit }.max { $0.index < $1.index }
                var isRecovery = false
                if let commit, Int.random(in: 0..<8, using: &random) == 0 {
                    // The recorder was killed, and what it had not written yet is gone; a part of the file too, maybe.
                    isRecovery = true
                    late.removeAll { $0.log == log }
                    let isSame = commit.segment == now.segment
                    now.bytes = Int.random(in: min(isSame ? commit.bytes : 0, now.bytes)...now.bytes, using: &random)
                } else if Int.random(in: 0..<10, using: &random) == 0 {
                    now.segment += 1
                    now.bytes = 0
                }
                state[log] = now
                let kind: JournalEntry.Kind = !isRecovery && Bool.random(using: &random) ? .commit : .position
                let entry = JournalEntry(
                    kind, index: now.index, log: log, segment: now.segment, bytes: now.bytes, samples: now.next,
                    epoch: "E\(Int.random(in: 0..<4, using: &random))", next: now.next,
                    date: WallTime(nanosecondsSince1970: 0))
                if kind == .commit, Bool.random(using: &random) {
                    late.append(entry)
                } else {
                    write(entry)
                }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    late.forEach(write)
                    late = []
                }
            }
            #expect(Set(digest.entries).isSubset(of: all), "seed \(seed)")
            let left = valid(digest.entries)
            all = valid(all)
            for log in logs {
                let now = try #require(state[log])
                let commit = all.filter { $0.log == log && $0.kind == .commit }.max { $0.index < $1.index }
                let segments = (commit?.segment ?? 0)...now.segment
                for segment in segments {
                    let shortest = segment == commit?.segment ? commit?.bytes ?? 0 : 0
                    for length in stride(from: shortest, through: shortest + 500, by: 5) {
                        #expect(
                            places(left, of: log, segment: segment, length: length)
                                == places(all, of: log, segment: segment, length: length), "seed \(seed)")
                    }
                }
                // What is left does not grow with the session: of each epoch one, and what follows on the last commit.
                let recent = all.filter { $0.log == log && $0.index >= commit?.index ?? 0 }.count
                #expect(left.count { $0.log == log } <= recent + 4, "seed \(seed)")
            }
        }
    }
}
