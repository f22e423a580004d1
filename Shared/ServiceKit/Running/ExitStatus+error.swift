import Messages
import SystemPackage
import ZeroMQ

extension ExitStatus {
    /// The exit code that an error which ended a program stands for.
    ///
    /// - `ServiceError`: its own.
    /// - `InvalidValue`: bad configuration.
    /// - `Errno` and `ZeroMQError`: I/O, except for an endpoint that this machine does not have (bad configuration)
    ///   and a peer that did not answer (peer unavailable).
    /// - `RequestError`, thrown where another program refused: peer unavailable.
    /// - Anything else is a mistake of our own: failed.
    package init(_ error: any Error) {
        switch error {
        case let error as ServiceError:
            self = error.status
        case is InvalidValue:
            self = .badConfiguration
        case let error as ZeroMQError where error.code == .timedOut:
            self = .peerUnavailable
        case let error as ZeroMQError where error.code == .addressNotAvailable || error.code == .invalidArgument:
            self = .badConfiguration
        case is ZeroMQError, is Errno:
            self = .inputOutput
        case is RequestError:
            self = .peerUnavailable
        default:
            self = .failed
        }
    }
}
