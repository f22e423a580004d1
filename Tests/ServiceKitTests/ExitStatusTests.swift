import Messages
import ServiceKit
import SystemPackage
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct ExitStatusTests {
    private struct Surprise: Error {}

    @Test func theNumbersAreTheOnesPromised() {
        let statuses: [ServiceKit.ExitStatus] = [
            .done, .failed, .doneWithLoss, .usage, .peerUnavailable, .inputOutput, .badConfiguration,
        ]
        #expect(statuses.map(\.rawValue) == [0, 1, 3, 64, 69, 74, 78])
    }

    @Test func anErrorStandsForItsExitCode() {
        #expect(ServiceKit.ExitStatus(ServiceError(.doneWithLoss, "a gap")) == .doneWithLoss)
        #expect(ServiceKit.ExitStatus(InvalidValue("no")) == .badConfiguration)
        #expect(ServiceKit.ExitStatus(Errno.noSpace) == .inputOutput)
        #expect(ServiceKit.ExitStatus(ZeroMQError(.addressInUse, during: "zmq_bind")) == .inputOutput)
        // The network may not be up yet: units don't restart a program whose configuration is bad.
        #expect(ServiceKit.ExitStatus(ZeroMQError(.addressNotAvailable, during: "zmq_bind")) == .inputOutput)
        #expect(ServiceKit.ExitStatus(ZeroMQError(.invalidArgument, during: "zmq_bind")) == .badConfiguration)
        #expect(ServiceKit.ExitStatus(ZeroMQError(.timedOut, during: "zmq_recv")) == .peerUnavailable)
        #expect(ServiceKit.ExitStatus(RequestError(.unknownStream, "no such stream")) == .peerUnavailable)
        #expect(ServiceKit.ExitStatus(Surprise()) == .failed)
    }
}
