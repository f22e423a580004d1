import Metrics
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(1)))
struct MetricsGathererTests {
    private final class Count: Sendable {
        let value = Atomic(0)
    }

    @Test func whatAProgramCountsIsThere() async {
        let gatherer = MetricsGatherer(limit: .seconds(30)) {
            var page = MetricsPage()
            page.add(Metric(.gauge, "a", "A."), 1)
            return page
        }
        for _ in 0..<3 { #expect(await gatherer.page()?.text.isEmpty == false) }
    }

    @Test func aProgramThatHangsIsAskedOnce() async throws {
        let questions = Count()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let gatherer = MetricsGatherer(limit: .milliseconds(20)) {
            questions.value.add(1, ordering: .relaxed)
            for await _ in gate {}
            return MetricsPage()
        }
        for _ in 0..<3 { #expect(await gatherer.page() == nil) }
        #expect(questions.value.load(ordering: .relaxed) == 1)
        // Gathering continues.
        open.finish()
        try await eventually("it answers") { await gatherer.page() != nil }
    }
}
