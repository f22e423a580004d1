import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventuallyTests {
    @Test func itAsksUntilItIsSo() async throws {
        var asked = 0
        try await eventually("the third time") {
            asked += 1
            return asked == 3
        }
        #expect(asked == 3)
    }

    @Test func itGivesUpAndSaysWhatItWaitedFor() async throws {
        let failure = await #expect(throws: TestFailure.self) {
            try await eventually("the sun rises in the west", within: .milliseconds(30)) { false }
        }
        #expect(try #require(failure).description == "the sun rises in the west: not within 0.03 seconds")
    }

    @Test func aProbesErrorEndsIt() async throws {
        struct Expected: Error {}
        await #expect(throws: Expected.self) { try await eventually("anything") { throw Expected() } }
    }

    @Test func whatCanNotBeDecodedYetIsAskedAgain() async throws {
        let error = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "half a file"))
        var asked = 0
        try await eventually("the third time") {
            asked += 1
            if asked < 3 { throw error }
            return true
        }
        #expect(asked == 3)
        let failure = await #expect(throws: TestFailure.self) {
            try await eventually("anything", within: .milliseconds(30)) { throw error }
        }
        #expect(try #require(failure).description.hasSuffix("half a file"))
    }

    @Test func anOperationThatTakesTooLongIsCancelled() async throws {
        await #expect(throws: TestFailure.self) {
            try await withTimeLimit(.milliseconds(10), "sleeping") { try await Task.sleep(for: .seconds(100)) }
        }
        #expect(try await withTimeLimit(.seconds(100), "nothing") { 7 } == 7)
    }
}
