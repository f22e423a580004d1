/// Why a request was refused: the `error` of a JSON-RPC 2.0 reply.
///
/// The standard's codes are negative. Holdfast's are positive and have a `reason` word for programs, beside the message for
/// people.
public struct RequestError: Error, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The standard's code, or one of `Reason`.
    public var code: Int
    /// What failed, with which value, and what to do.
    public var message: String
    /// Details for programs.
    public var data: Detail?

    /// The details of an error, for programs.
    public struct Detail: Codable, Hashable, Sendable {
        /// The kind of error as one word.
        public var reason: String
        /// Seconds after which the same request may succeed, if the program knows.
        public var retryAfter: Double?

        /// Creates the details.
        public init(reason: String, retryAfter: Double? = nil) {
            self.reason = reason
            self.retryAfter = retryAfter
        }
    }

    /// A kind of error of Holdfast: its code and its word.
    public struct Reason: Hashable, Sendable {
        /// The positive code.
        public let code: Int
        /// The word.
        public let word: String

        private init(_ code: Int, _ word: String) {
            self.code = code
            self.word = word
        }

        /// The session or stream is already running.
        public static let alreadyRunning = Reason(1, "alreadyRunning")
        /// The session is over.
        public static let finished = Reason(2, "finished")
        /// No stream has this name.
        public static let unknownStream = Reason(3, "unknownStream")
        /// A parameter has an invalid value.
        public static let invalidParameter = Reason(4, "invalidParameter")
        /// No session has this name.
        public static let unknownSession = Reason(5, "unknownSession")
        /// The publisher has restarted since that epoch.
        public static let unknownEpoch = Reason(6, "unknownEpoch")
        /// A session, stream or part of the program is not running.
        public static let notRunning = Reason(7, "notRunning")
        /// The program does not support the request.
        public static let unsupported = Reason(8, "unsupported")
        /// Writing or reading a file failed.
        public static let inputOutput = Reason(9, "inputOutput")
        /// The request exceeded its time limit.
        public static let timedOut = Reason(10, "timedOut")
        /// The program is shutting down.
        public static let stopping = Reason(11, "stopping")
        /// The disk has too little free space.
        public static let noSpace = Reason(12, "noSpace")
        /// No log has this name.
        public static let unknownLog = Reason(13, "unknownLog")
        /// The name is already taken.
        public static let alreadyExists = Reason(14, "alreadyExists")
        /// The request would delete files, and does not permit that.
        public static let wouldDelete = Reason(15, "wouldDelete")
        /// Not enough can be removed.
        public static let notEnough = Reason(16, "notEnough")
        /// The maximum number is reached.
        public static let tooMany = Reason(17, "tooMany")
        /// The session is still running, or is being finished.
        public static let notOver = Reason(18, "notOver")
        /// The client's key does not have the required role.
        public static let notAllowed = Reason(19, "notAllowed")
        /// The program is overloaded at present.
        public static let busy = Reason(20, "busy")
        /// The publisher's source does not have these samples: a client reported that it can't send them any more.
        public static let notInSource = Reason(21, "notInSource")
        /// The same, but the number of samples is estimated: the loss on the way to the publisher was in data without sample
        /// numbers.
        public static let estimated = Reason(22, "estimated")
    }

    /// Creates an error of a Holdfast kind.
    /// - Parameter retryAfter: seconds after which the same request may succeed.
    public init(_ reason: Reason, _ message: String, retryAfter: Double? = nil) {
        code = reason.code
        self.message = message
        data = Detail(reason: reason.word, retryAfter: retryAfter)
    }

    private init(code: Int, _ message: String) {
        self.code = code
        self.message = message
    }

    /// −32700: the request is not JSON.
    public static func notJSON(_ message: String) -> RequestError { RequestError(code: -32700, message) }
    /// −32600: the JSON is not a request.
    public static func invalidRequest(_ message: String) -> RequestError { RequestError(code: -32600, message) }
    /// −32601: no method has this name.
    public static func unknownMethod(_ message: String) -> RequestError { RequestError(code: -32601, message) }
    /// −32602: a parameter is missing or of the wrong type.
    public static func invalidParams(_ message: String) -> RequestError { RequestError(code: -32602, message) }
    /// −32603: a fault of the program.
    public static func internalError(_ message: String) -> RequestError { RequestError(code: -32603, message) }

    /// The same as `message`.
    public var description: String { message }
}

extension RequestError {
    /// Refuses a request unless a condition holds.
    /// - Parameter sentence: what is wrong, and what to write instead.
    package static func require(
        _ isRight: Bool, _ sentence: @autoclosure () -> String, _ reason: Reason = .invalidParameter
    ) throws(RequestError) {
        if !isRight { throw RequestError(reason, sentence()) }
    }
}

extension RequestError {
    package func isOf(_ reason: Reason) -> Bool { code == reason.code }

    /// Whether the same request may succeed later.
    package var isPassing: Bool { isOf(.timedOut) || isOf(.busy) || isOf(.stopping) }
}
