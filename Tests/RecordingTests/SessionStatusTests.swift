import Files
import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionStatusTests {
    @Test func statesHaveTheAncestorsWordsAndOrder() {
        #expect(
            SessionStatus.allCases.sorted().map(\.rawValue) == [
                "starting", "running", "waitingToStop", "processingResults", "finished", "cancelled", "failed",
            ])
        #expect(SessionStatus.allCases == SessionStatus.allCases.sorted())
    }

    @Test func aStatusOnlyRises() {
        for from in SessionStatus.allCases {
            for to in SessionStatus.allCases {
                var status = from
                let moved = status.advance(to: to)
                #expect(moved == (to > from))
                #expect(status == max(from, to))
            }
        }
    }

    /// Ours: SEEDS 1.2/6.
    @Test func case57ASessionStartsOnce() throws {
        let session = try SessionIdentifier("s1")
        for status in SessionStatus.allCases {
            #expect(status.refusal(toStart: session).code == (status >= .finished ? .finished : .alreadyRunning))
        }
    }

    @Test func onDiskItIsAWord() throws {
        for status in SessionStatus.allCases {
            let bytes = try WireCoding.encode(status)
            #expect(String(decoding: bytes, as: UTF8.self) == "\"\(status.rawValue)\"")
            #expect(try WireCoding.decode(SessionStatus.self, from: bytes) == status)
        }
        #expect(throws: DecodingError.self) { try WireCoding.decode(SessionStatus.self, from: Array("4".utf8)) }
        #expect(throws: DecodingError.self) { try WireCoding.decode(SessionStatus.self, from: Array("\"going\"".utf8)) }
    }
}
