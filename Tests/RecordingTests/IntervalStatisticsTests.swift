import Foundation
import Messages
import Recording
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct IntervalStatisticsTests {
    /// A naive reference: all intervals kept and sorted.
    private struct Reference {
        let rate: Double?
        var intervals: [Double] = []

        var longest: Double? { intervals.max() }

        func deviation(_ share: Double) -> Double? {
            guard let rate, !intervals.isEmpty else { return nil }
            let deviations = intervals.map { (($0 - 1 / rate).magnitude * 1e9).rounded() / 1e9 }.sorted()
            return deviations[Int((share * Double(deviations.count)).rounded(.up)) - 1]
        }
    }

    /// Random rows: regular and late ones, all orders of magnitude, some not finite, added in parts and with breaks.
    private func random(rate: Double?, using random: inout SplitMix) -> (IntervalStatistics, Reference) {
        var statistics = IntervalStatistics(nominalRate: rate)
        var reference = Reference(rate: rate)
        var last: Double?
        var uptime = Double.random(in: 0...1e6, using: &random)
        for _ in 0..<Int.random(in: 0...30, using: &random) {
            let uptimes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                switch Int.random(in: 0..<20, using: &random) {
                case 0: return [Double.nan, .infinity, -.infinity][Int.random(in: 0..<3, using: &random)]
                case 1: uptime += Double.random(in: -1...10, using: &random)
                case 2: uptime += exp2(Double.random(in: -40...20, using: &random))
                default: uptime += 0.01 + Double.random(in: -1e-4...1e-4, using: &random)
                }
                return uptime
            }
            uptimes.withUnsafeBufferPointer { statistics.add($0) }
            for uptime in uptimes {
                if let last, (uptime - last).isFinite { reference.intervals.append(uptime - last) }
                last = uptime
            }
            if Int.random(in: 0..<5, using: &random) == 0 {
                statistics.breakOff()
                last = nil
            }
        }
        return (statistics, reference)
    }

    @Test(arguments: [UInt64(1), 2, UInt64.random(in: 0 ... .max)])
    func numbersAgreeWithASlowReference(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for round in 0..<100 {
            let rate = [100.0, 50, 1e-3, nil][round % 4]
            let (statistics, reference) = self.random(rate: rate, using: &random)
            #expect(statistics.count == reference.intervals.count, "seed \(seed)")
            #expect(statistics.longest == reference.longest, "seed \(seed)")
            let jitter = statistics.jitter
            #expect((jitter == nil) == (reference.deviation(1) == nil), "seed \(seed)")
            guard let jitter else { continue }
            #expect(jitter.count == reference.intervals.count)
            #expect(abs(jitter.maximum - (reference.deviation(1) ?? .nan)) < 1e-9, "seed \(seed)")
            for (found, share) in [(jitter.median, 0.5), (jitter.p99, 0.99)] {
                let exact = try #require(reference.deviation(share))
                // The upper end of the interval's bucket.
                #expect(found >= exact - 2e-9 && found <= exact * (1 + 1 / 32) + 2e-9, "seed \(seed)")
            }
        }
    }

    @Test(arguments: [UInt64(4), UInt64.random(in: 0 ... .max)])
    func whatWasStoredGoesOn(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for round in 0..<40 {
            var (statistics, _) = self.random(rate: round % 2 == 0 ? 100 : nil, using: &random)
            statistics.breakOff()
            var stored = try WireCoding.decode(IntervalStatistics.self, from: WireCoding.encode(statistics))
            #expect(stored == statistics, "seed \(seed)")
            [5, 5.01, 5.5].withUnsafeBufferPointer {
                stored.add($0); statistics.add($0)
            }
            #expect(stored == statistics, "seed \(seed)")
        }
    }

    @Test func theStoredFormIsShortAndCanBeRead() throws {
        var statistics = IntervalStatistics(nominalRate: 100)
        [1, 1.01, 1.02, 1.0300001, 1.14].withUnsafeBufferPointer { statistics.add($0) }
        let text = String(decoding: try WireCoding.encode(statistics), as: UTF8.self)
        #expect(
            text.wholeMatch(
                of:
                    /\{"buckets":\{"0":2,"100":1,"98566144":1\},"count":4,"longest":0\.109999\d*,"maximum":99999900,"nominalRate":100\}/
            ) != nil, "\(text)")
        var plain = IntervalStatistics(nominalRate: nil)
        [1, 2].withUnsafeBufferPointer { plain.add($0) }
        #expect(try WireCoding.encode(plain) == Array(#"{"count":1,"longest":1}"#.utf8))
        for spoiled in [
            #"{"count":1,"nominalRate":100,"buckets":{"-5":1}}"#, #"{"count":1,"nominalRate":100,"buckets":{"5":-1}}"#,
            #"{"count":1,"buckets":{"5":1}}"#, #"{"nominalRate":100}"#,
        ] {
            #expect(throws: DecodingError.self) {
                try WireCoding.decode(IntervalStatistics.self, from: Array(spoiled.utf8))
            }
        }
    }

    @Test(arguments: [0, -1, .nan, .infinity])
    func aRateThatIsNoneGivesNoJitter(rate: Double) {
        var statistics = IntervalStatistics(nominalRate: rate)
        [1, 2].withUnsafeBufferPointer { statistics.add($0) }
        #expect(statistics.jitter == nil)
        #expect(statistics.longest == 1)
    }

    @Test func largeDeviationsAreCounted() throws {
        var statistics = IntervalStatistics(nominalRate: 100)
        [0, 1e300, 0].withUnsafeBufferPointer { statistics.add($0) }
        #expect(statistics.count == 2)
        #expect(statistics.longest == 1e300)
        // The longest interval in nanoseconds: 292 years.
        #expect(try #require(statistics.jitter).maximum > 9e9)
    }

    /// A pause is not a silence, whether its ends are in one batch or in several.
    @Test func pausesDoNotCount() {
        let second: Int64 = 1_000_000_000
        var timeline = SessionTimeline(task: "", step: "a")
        for start in [2, 7] {
            timeline.pause(at: Int64(start) * second)
            timeline.resume(at: Int64(start + 3) * second)
        }
        let rows = (0..<12).map { [Double($0)] }
        for cut in 0...12 {
            var formatter = RecordFormatter(format: .csv, sensorType: "s", fields: ["uptime"])
            var statistics = IntervalStatistics(nominalRate: 1)
            /// Like a log: rows that are not consecutive are formatted separately.
            func add(_ range: Range<Int>) {
                let result = formatter.text(packed: Rows(values: rows), in: range, timeline: timeline).result
                guard let place = result.places.first else { return statistics.add(result) }
                add(range.lowerBound..<place.row)
                add(place.row..<range.upperBound)
            }
            for range in [0..<cut, cut..<12] { add(range) }
            // 0 1, 5 6, 10 11.
            #expect(statistics.count == 3, "\(cut)")
            #expect(statistics.longest == 1)
            #expect(statistics.jitter == SessionReport.Latency(count: 3, median: 0, p99: 0, maximum: 0))
        }
    }
}
