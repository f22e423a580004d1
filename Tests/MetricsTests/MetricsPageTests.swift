import Metrics
import Testing

struct MetricsPageTests {
    private static let samples = Metric(
        .counter, "holdfast_samples_total", "Samples.", labels: ["device", "stream"])

    private func text(_ page: MetricsPage) -> String { String(decoding: page.text, as: UTF8.self) }

    @Test func aFamilyHasItsHelpItsTypeAndItsValues() {
        var page = MetricsPage()
        page.add(Self.samples, 12, "left-wrist", "gyro")
        page.add(Metric(.gauge, "holdfast_free_bytes", "Free."), 0.5)
        page.add(Self.samples, 7, "phone", "gyro")
        #expect(
            text(page) == """
                # HELP holdfast_samples_total Samples.
                # TYPE holdfast_samples_total counter
                holdfast_samples_total{device="left-wrist",stream="gyro"} 12
                holdfast_samples_total{device="phone",stream="gyro"} 7
                # HELP holdfast_free_bytes Free.
                # TYPE holdfast_free_bytes gauge
                holdfast_free_bytes 0.5

                """)
    }

    @Test func whatCouldEndALabelOrALineIsEscaped() {
        var page = MetricsPage()
        page.add(Metric(.gauge, "a", "One\\two\nthree \"four\".", labels: ["b"]), 1, "x\"} 5\n# \\end")
        #expect(
            text(page) == """
                # HELP a One\\\\two\\nthree "four".
                # TYPE a gauge
                a{b="x\\"} 5\\n# \\\\end"} 1

                """)
    }

    @Test(arguments: [
        (0, "0"), (-3, "-3"), (59_351_629_824, "59351629824"), (1e300, "1e+300"), (0.1, "0.1"), (1e-5, "1e-05"),
        (Double.infinity, "+Inf"), (-Double.infinity, "-Inf"), (Double.nan, "NaN"),
    ])
    func numbersAreWrittenAsTheyAreRead(value: Double, text: String) {
        var page = MetricsPage()
        page.add(Metric(.gauge, "a", "A."), value)
        #expect(self.text(page).hasSuffix("\na \(text)\n"))
    }

    @Test func aHistogramHasItsBucketsItsSumAndItsCount() {
        var page = MetricsPage()
        page.add(
            Metric(.histogram, "late_seconds", "Late."),
            HistogramCounts(buckets: [.init(bound: 0.005, count: 1), .init(bound: 1, count: 3)], count: 4, sum: 7.25))
        #expect(
            text(page) == """
                # HELP late_seconds Late.
                # TYPE late_seconds histogram
                late_seconds_bucket{le="0.005"} 1
                late_seconds_bucket{le="1"} 3
                late_seconds_bucket{le="+Inf"} 4
                late_seconds_sum 7.25
                late_seconds_count 4

                """)
    }

    @Test func pagesOfTheSameFamilyBecomeOne() {
        let connections = Metric(.counter, "connections_total", "Connections.", labels: ["socket"])
        var page = MetricsPage()
        page.add(connections, 1, "publish")
        var other = MetricsPage()
        other.add(connections, 2, "subscribe")
        page.add(other)
        #expect(text(page).components(of: "# TYPE") == 1)
        #expect(text(page).contains("connections_total{socket=\"subscribe\"} 2\n"))
    }
}

extension String {
    /// The number of occurrences of a text in this one.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
