import ServiceKit
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RunTogetherTests {
    @Test func theFirstPartThatEndsEndsAll() async throws {
        try await runTogether({ try await gracefulShutdown() }, {}, { try await gracefulShutdown() })
    }

    @Test func whatItThrowsIsThrown() async {
        let failure = ServiceError(.inputOutput, "it broke")
        await #expect(throws: failure) {
            try await runTogether({ try await gracefulShutdown() }, { throw failure })
        }
    }

    @Test func aPartThatWasCancelledHasNotFailed() async throws {
        try await runTogether({ throw CancellationError() }, { try await gracefulShutdown() })
    }
}
