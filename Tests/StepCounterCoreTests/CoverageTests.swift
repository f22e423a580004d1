import Messages
import TestSupport
import Testing

@testable import StepCounterCore

/// The times that were counted, and the reasons for the rest.
@Suite struct CoverageTests {
    private static let start = 1_795_219_200.0

    private func date(_ seconds: Double) -> WallTime { WallTime(seconds: Self.start + seconds) }

    private func span(
        _ number: Int, _ start: Double, _ end: Double, lost: Int = 0, _ reason: Gap.Reason? = nil
    ) -> CountedSpan {
        CountedSpan(number: number, start: date(start), end: date(end), lost: lost, reason: reason)
    }

    private func coverage(
        _ from: Double, _ to: Double, _ spans: [CountedSpan], hasEarlier: Bool = false, keptFrom: Double? = nil
    ) -> String {
        let coverage = Coverage(
            of: date(from)..<date(to), in: spans, hasEarlier: hasEarlier, keptFrom: keptFrom.map(date))
        let gaps = coverage.gaps.map { gap in
            let lost = gap.samples.map { " \($0)" } ?? ""
            let (from, to) = (gap.from.seconds - Self.start, gap.to.seconds - Self.start)
            return "\(Int(from.rounded()))-\(Int(to.rounded())) \(gap.reason.rawValue)\(lost)"
        }
        let share = coverage.share.map { "\(($0 * 1_000).rounded() / 1_000)" } ?? "-"
        return ([share] + gaps).joined(separator: ", ")
    }

    @Test func whatIsNotCountedHasItsReason() {
        let spans = [
            span(1, 10, 20), span(2, 30, 40), span(3, 45, 50, lost: 7, .notRetained), span(4, 60, 70, .epochEnded),
        ]
        let all =
            "0.35, 0-10 unknown, 20-30 unknown, 40-45 notRetained 7, 50-60 epochEnded, 70-100 notArrived"
        #expect(coverage(0, 100, spans) == all)
        #expect(coverage(12, 18, spans) == "1.0")
        #expect(coverage(15, 35, spans) == "0.5, 20-30 unknown")
        // The spans before and after a range determine what is known about it.
        #expect(coverage(41, 44, Array(spans[2...]), hasEarlier: true) == "0.0, 41-44 notRetained 7")
        #expect(coverage(2, 5, spans) == "0.0, 2-5 unknown")
        #expect(coverage(80, 90, [], hasEarlier: true) == "0.0, 80-90 notArrived")
        #expect(coverage(80, 90, []) == "0.0, 80-90 unknown")
        #expect(coverage(5, 15, spans, keptFrom: 12) == "0.3, 5-12 notKept")
        #expect(coverage(0, 5, spans, keptFrom: 12) == "0.0, 0-5 notKept")
        #expect(coverage(5, 5, spans) == "-")
        let isLost = [span(1, 10, 20), span(2, 20, 20, lost: 5, .notRetained)]
        #expect(coverage(10, 30, isLost) == "0.5, 20-30 notRetained 5")
    }

    @Test func spansMayOverlap() {
        // The device's clock was set back.
        let spans = [span(1, 0, 50), span(2, 20, 30), span(3, 40, 60)]
        #expect(coverage(0, 80, spans) == "0.75, 60-80 notArrived")
    }

    @Test func partsHaveCoveragesOfTheirOwn() {
        let coverage = Coverage(of: date(0)..<date(40), in: [span(1, 5, 15), span(2, 25, 40)])
        let parts = stride(from: 0.0, to: 40, by: 10).map { date($0)..<date($0 + 10) }
        let shares = coverage.shares(of: parts + [date(40)..<date(40)])
        #expect(shares.map { $0.map { ($0 * 100).rounded() } } == [50, 50, 50, 100, nil])
    }

    // MARK: Spans

    private func clock(_ ahead: Double = 0) -> ClockReading { ClockReading(uptime: 0, date: date(ahead)) }

    /// Spans from start to end, with their lost samples.
    private func texts(_ spans: CountedSpans) -> [String] {
        spans.recent.map {
            let (start, end) = ($0.start.seconds - Self.start, $0.end.seconds - Self.start)
            return "\($0.number): \(Int(start.rounded()))-\(Int(end.rounded())) \($0.lost)"
        }
    }

    @Test func aSpanEndsWhereSamplesAreMissing() {
        var spans = CountedSpans()
        spans.lose(Gap(epoch: "e", from: 0, count: 9, reason: .notRetained))
        #expect(texts(spans).isEmpty)
        spans.count(from: 0, to: 10, clock: clock())
        spans.count(from: 10.5, to: 20, clock: clock())
        // More than a second without a sample.
        spans.count(from: 22, to: 30, clock: clock())
        spans.lose(Gap(epoch: "e", from: 0, count: 5, reason: .notRetained))
        spans.lose(Gap(epoch: "e", from: 5, count: 2, reason: .malformed))
        spans.count(from: 30.1, to: 40, clock: clock())
        #expect(texts(spans) == ["1: 0-20 0", "2: 22-30 0", "3: 30-40 7"])
        #expect(spans.recent.last?.reason == .malformed)
        // A corrected clock, and a clock that jumps.
        spans.count(from: 40.1, to: 50, clock: clock(0.5))
        spans.count(from: 50.1, to: 60, clock: clock(1_000))
        spans.count(from: 60.1, to: 70, clock: clock())
        #expect(texts(spans).suffix(3) == ["3: 30-51 7", "4: 1050-1060 0", "5: 60-70 0"])
    }

    @Test func aPublisherThatStartsAnewMayHaveHadMore() {
        var spans = CountedSpans()
        spans.count(from: 0, to: 10, clock: clock())
        spans.interrupt()
        spans.count(from: 10.2, to: 20, clock: clock())
        spans.count(from: 20.2, to: 30, clock: clock())
        #expect(texts(spans) == ["1: 0-10 0", "2: 10-30 0"])
    }

    @Test func afterARestartItContinuesWithTheNextSample() {
        for (first, expected) in [(20.1, ["1: 0-30 0"]), (23, ["1: 0-20 0", "2: 23-30 0"])] {
            var spans = CountedSpans([span(1, 0, 20)])
            #expect(!spans.hasUnstored)
            spans.count(from: first, to: 30, clock: clock())
            #expect(texts(spans) == expected)
        }
        var spans = CountedSpans([span(1, 0, 20), span(2, 20, 20, lost: 5, .notRetained)])
        spans.count(from: 23, to: 30, clock: clock())
        #expect(texts(spans) == ["1: 0-20 0", "2: 23-30 5"])
    }

    @Test func theTimeOfDroppedStepsIsNotCounted() {
        var spans = CountedSpans()
        spans.count(from: 0, to: 20, clock: clock())
        _ = spans.takeUnstored()
        spans.drop(from: date(15))
        #expect(spans.takeUnstored() == [span(1, 0, 15), span(2, 15, 15, .notWritten)])
        // However many steps of a walk are dropped, it has one gap.
        for second in stride(from: 21.0, to: 60, by: 1) {
            spans.count(from: second, to: second + 0.9, clock: clock())
            spans.drop(from: date(second + 0.5))
        }
        spans.count(from: 60, to: 100, clock: clock())
        #expect(texts(spans) == ["1: 0-15 0", "2: 60-100 0"])
        #expect(coverage(0, 100, Array(spans.recent)) == "0.55, 15-60 notWritten")
        // What was counted before the next dropped step remains.
        spans.drop(from: date(90))
        #expect(texts(spans) == ["1: 0-15 0", "2: 60-90 0", "3: 90-90 0"])
    }

    @Test func aDroppedStepMayLieInAnEarlierSpan() {
        var spans = CountedSpans()
        spans.count(from: 0, to: 10, clock: clock())
        spans.count(from: 12, to: 20, clock: clock())
        spans.drop(from: date(9))
        #expect(texts(spans) == ["1: 0-9 0", "2: 12-12 0"])
        #expect(coverage(0, 30, Array(spans.recent)) == "0.3, 9-30 notWritten")
    }

    @Test func whatCouldNotBeStoredIsStoredLater() {
        var spans = CountedSpans()
        spans.count(from: 0, to: 10, clock: clock())
        #expect(spans.takeUnstored().map(\.number) == [1])
        #expect(!spans.hasUnstored && spans.takeUnstored().isEmpty)
        spans.count(from: 20, to: 30, clock: clock())
        spans.noteUnstored()
        #expect(spans.takeUnstored().map(\.number) == [1, 2])
        spans.count(from: 30.5, to: 31, clock: clock())
        #expect(spans.takeUnstored() == [span(2, 20, 31)])
    }

    @Test func whatIsRememberedIsBounded() {
        var spans = CountedSpans()
        for number in 0..<1_000 {
            spans.count(from: 10 * Double(number), to: 10 * Double(number) + 5, clock: clock())
        }
        #expect(spans.recent.count == CountedSpans.limit && spans.takeUnstored().count == CountedSpans.limit)
        #expect(spans.recent.last?.number == 1_000)
        #expect(spans.isComplete(since: date(9_001)) && !spans.isComplete(since: date(8_999)))
        #expect(CountedSpans([span(7, 0, 20)]).isComplete(since: date(-100)))
    }
}
