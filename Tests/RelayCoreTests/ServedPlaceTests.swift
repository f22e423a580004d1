import Testing

@testable import RelayCore

/// Up to where a relay published a stream, even if its consumer was lost or replaced.
@Suite(.timeLimit(.minutes(1)))
struct ServedPlaceTests {
    private func consumer(
        _ made: Int64 = 1, of stream: Int64 = 1, acknowledged: UInt64, given: UInt64
    ) -> ServedPlace.Consumer {
        ServedPlace.Consumer(streamMade: stream, made: made, acknowledged: acknowledged, given: given)
    }

    @Test func aProgramContinuesWhereTheOneBeforeItAcknowledged() {
        var place = ServedPlace()
        #expect(place.missing == nil)
        place.note(consumer(acknowledged: 10, given: 13))
        #expect(place.missing == 11...13)
        place.notePublished(upTo: 12)
        #expect(place.missing == 13...13)
        place.notePublished(upTo: 13)
        #expect(place.missing == nil)
    }

    /// The other relay has published it.
    @Test func whatAnotherRelayAcknowledgedIsNotMissing() {
        var place = ServedPlace()
        place.note(consumer(acknowledged: 10, given: 10))
        place.note(consumer(acknowledged: 50, given: 52))
        #expect(place.missing == 51...52)
    }

    @Test func aConsumerThatWasMadeAnewLeavesNothingOut() {
        var place = ServedPlace()
        place.note(consumer(acknowledged: 10, given: 10))
        place.notePublished(upTo: 12)
        for _ in 0..<2 {
            place.note(consumer(2, acknowledged: 30, given: 30))
            #expect(place.missing == 13...30)
        }
        place.notePublished(upTo: 30)
        place.note(consumer(2, acknowledged: 40, given: 40))
        #expect(place.missing == nil)
    }

    /// The new stream's numbers start over, and may already have passed the old ones.
    @Test(arguments: [3, 500] as [UInt64])
    func aStreamThatWasMadeAnewIsPublishedFromItsFirstMessage(given: UInt64) {
        var place = ServedPlace()
        place.note(consumer(acknowledged: 100, given: 100))
        place.note(consumer(2, of: 2, acknowledged: given, given: given))
        #expect(place.missing == 1...given)
        place.notePublished(upTo: 2)
        // As after a failure.
        place.note(consumer(2, of: 2, acknowledged: given, given: given))
        #expect(place.missing == 3...given)
    }
}
