import Messages
import SystemPackage
import ZeroMQ

extension ExitStatus {
    /// The exit code for an error that ended a program.
    ///
    /// - `ServiceError`: its own.
    /// - `InvalidValue`: bad configuration.
    /// - `Errno` and `ZeroMQError`: I/O, except for an invalid endpoint (bad configuration) and a peer that did not
    ///   answer (peer unavailable). An address that this machine does not have is I/O, so that a supervisor retries:
    ///   when a machine starts, its network may take longer than the program.
    /// - `RequestError`, from another program's refusal: peer unavailable.
    /// - Anything else is a fault of the program: failed.
    package init(_ error: any Error) {
        switch error {
        case let error as ServiceError:
            self = error.status
        case is InvalidValue:
            self = .badConfiguration
        case let error as ZeroMQError where error.code == .timedOut:
            self = .peerUnavailable
        case let error as ZeroMQError where error.code == .invalidArgument:
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
