import SessionOverview
import TestSupport
import Testing

struct EnvelopeTests {
    private static let second: Int64 = 1_000_000_000

    @Test func eachColumnHasTheLeastAndTheMostOfItsSamples() {
        var envelope = Envelope(fields: 2, maximumColumns: 1_000)
        for index in 0..<1_000 {
            envelope.add(at: Int64(index) * 10_000_000) { $0 == 0 ? Double(index) : -Double(index) }
        }
        let part = envelope.part(columns: 10)
        #expect(part.times.count == part.fields[0].count && part.fields.count == 2)
        #expect((5...10).contains(part.times.count))
        #expect(part.fields[0].first?.least == 0)
        #expect(part.fields[0].last?.most == 999)
        #expect(part.fields[1].last?.least == -999)
        for (one, next) in zip(part.fields[0], part.fields[0].dropFirst()) { #expect(one.most + 1 == next.least) }
    }

    @Test func itsSizeDoesNotGrowWithTheStream() {
        var envelope = Envelope(fields: 1, maximumColumns: 64)
        for index in 0..<100_000 { envelope.add(at: Int64(index) * Self.second) { _ in Double(index) } }
        #expect(envelope.byteCount <= 64 * 20)
        let whole = envelope.part(columns: 1)
        #expect(whole.fields[0] == [Envelope.Extremes(least: 0, most: 99_999)])
    }

    @Test func aTimeWithoutSamplesHasNoColumns() {
        var envelope = Envelope(fields: 1, maximumColumns: 4_096)
        for time: Int64 in [0, 1, 100, 101] { envelope.add(at: time * Self.second) { _ in 1 } }
        let part = envelope.part(columns: 1_000)
        #expect(part.times.count == 4)
        #expect(part.width < Self.second)
        let early = envelope.part(0..<50 * Self.second, columns: 1_000)
        #expect(early.times.count == 2)
        #expect(envelope.part(200 * Self.second..<300 * Self.second, columns: 10).times.isEmpty)
    }

    @Test func whatIsNoNumberLeavesAFieldEmpty() {
        var envelope = Envelope(fields: 1, maximumColumns: 16)
        envelope.add(at: 0) { _ in .nan }
        #expect(envelope.part(columns: 4).fields[0].first?.least.isNaN == true)
        envelope.add(at: 1) { _ in 5 }
        envelope.add(at: 2) { _ in .nan }
        envelope.add(at: 3) { _ in .infinity }
        envelope.add(at: 4) { _ in -.infinity }
        #expect(envelope.part(columns: 4).fields[0] == [Envelope.Extremes(least: 5, most: 5)])
    }

    @Test(arguments: 0..<20)
    func aPartSaysTheSameAsTheSamples(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var samples: [(Int64, Double)] = []
        var time = Int64.random(in: -Self.second...Self.second, using: &random)
        var envelope = Envelope(fields: 1, maximumColumns: .random(in: 2...200, using: &random))
        for _ in 0..<Int.random(in: 1...2_000, using: &random) {
            time += Int64.random(in: 0...50_000_000, using: &random)
            let value = Double.random(in: -1...1, using: &random)
            samples.append((time, value))
            envelope.add(at: time) { _ in value }
        }
        let part = envelope.part(columns: .random(in: 1...100, using: &random))
        for (index, start) in part.times.enumerated() {
            let values = samples.filter { start <= $0.0 && $0.0 < start + part.width }.map(\.1)
            #expect(part.fields[0][index].least == values.min())
            #expect(part.fields[0][index].most == values.max())
        }
        let covered = samples.count { sample in
            part.times.contains { $0 <= sample.0 && sample.0 < $0 + part.width }
        }
        #expect(covered == samples.count)
    }
}
