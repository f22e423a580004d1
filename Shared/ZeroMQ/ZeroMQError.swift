import CZeroMQ
import Glibc

/// An error of libzmq, or of the calls around it, with its error number.
///
/// `description` reads as a sentence: `zmq_connect tcp:127.0.0.1: Invalid argument`.
public struct ZeroMQError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, as an error number of errno(3) or of zmq.h. Open: libzmq may add more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The error number.
        public let rawValue: Int32

        /// Creates a code from an error number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The endpoint is taken by another socket.
        public static let addressInUse = Code(rawValue: EADDRINUSE)
        /// The endpoint's address is not one of this machine's.
        public static let addressNotAvailable = Code(rawValue: EADDRNOTAVAIL)
        /// The endpoint or an option's value is invalid.
        public static let invalidArgument = Code(rawValue: EINVAL)
        /// Nothing can be received or sent at this moment.
        public static let wouldBlock = Code(rawValue: EAGAIN)
        /// No reply arrived within the time limit.
        public static let timedOut = Code(rawValue: ETIMEDOUT)
        /// There was no connection within its time limit, so nothing was sent.
        public static let notConnected = Code(rawValue: ENOTCONN)
        /// The peer of a routed message is not connected.
        public static let hostUnreachable = Code(rawValue: EHOSTUNREACH)
        /// A connection to the other side is not permitted.
        public static let notAllowed = Code(rawValue: EACCES)
        /// A signal interrupted the call.
        public static let interrupted = Code(rawValue: EINTR)
    }

    /// The reason.
    public let code: Code
    /// The failed operation with its argument: `zmq_bind tcp://127.0.0.1:5550`.
    public let operation: String

    /// Whether this machine lacks the sockets, file descriptors or memory for the operation. No peer has been asked then.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(code.rawValue) }

    /// An error with a given code.
    public init(_ code: Code, during operation: String) {
        self.code = code
        self.operation = operation
    }

    /// The error that libzmq left in this thread's errno.
    static func last(during operation: String) -> ZeroMQError {
        ZeroMQError(Code(rawValue: zmq_errno()), during: operation)
    }

    /// `operation: reason`, for people.
    public var description: String {
        let reason = String(cString: zmq_strerror(code.rawValue))
        let advice = code == .addressInUse ? ". Another program listens there: stop it, or use another endpoint." : ""
        return "\(operation): \(reason)\(advice)"
    }
}
