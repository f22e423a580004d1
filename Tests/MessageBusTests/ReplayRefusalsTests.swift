import MessageBus
import Messages
import Testing

/// When a refusal means that samples are gone.
@Suite struct ReplayRefusalsTests {
    private static let announced = "tcp://wrist:5551"
    private static let other = "tcp://10.0.0.7:5551"
    private static let newEpoch = RequestError(.unknownEpoch, "it started anew")
    private static let noStream = RequestError(.unknownStream, "there is none")

    private static func verdict(
        of answers: [(refusal: RequestError?, endpoint: String)], hasOther: Bool = true
    ) -> Gap.Reason? {
        var refusals = ReplayRefusals()
        for answer in answers { refusals.note(answer.refusal, at: answer.endpoint, of: announced) }
        return refusals.verdict(asking: hasOther ? [announced, other] : [announced])
    }

    @Test func aPublisherIsBelievedWhereItSays() {
        #expect(Self.verdict(of: [(Self.newEpoch, Self.announced)], hasOther: false) == .epochEnded)
        #expect(Self.verdict(of: [(Self.noStream, Self.announced)], hasOther: false) == .notRetained)
        #expect(Self.verdict(of: [], hasOther: false) == nil)
    }

    @Test func whatSaysNothingOfTheSamplesIsNoReason() {
        let refusals: [RequestError?] = [
            RequestError(.notAllowed, ""), RequestError(.timedOut, ""), RequestError(.stopping, ""),
            .internalError(""), .unknownMethod(""), .invalidParams(""), nil,
        ]
        for refusal in refusals {
            #expect(Self.verdict(of: [(refusal, Self.announced)], hasOther: false) == nil, "\(refusal as Any)")
        }
    }

    @Test func theOtherPlaceIsAskedFirst() {
        #expect(Self.verdict(of: [(Self.noStream, Self.announced)]) == nil)
        #expect(Self.verdict(of: [(Self.noStream, Self.announced), (nil, Self.other)]) == .notRetained)
        #expect(Self.verdict(of: [(Self.noStream, Self.announced), (Self.newEpoch, Self.other)]) == .epochEnded)
        #expect(Self.verdict(of: [(Self.newEpoch, Self.other), (Self.noStream, Self.announced)]) == .epochEnded)
    }

    @Test func whoAnswersAtTheOtherPlaceIsNotBelievedAlone() {
        #expect(Self.verdict(of: [(nil, Self.announced), (Self.noStream, Self.other)]) == nil)
        #expect(Self.verdict(of: [(Self.noStream, Self.other), (nil, Self.announced)]) == nil)
    }
}
