/// Why a request was refused: the `error` of a JSON-RPC 2.0 reply.
///
/// The standard's codes are negative. Ours are positive and come with a `reason` word for programs, beside the
/// message that tells a person what to do.
public struct RequestError: Error, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The standard's code, or one of ours.
    public var code: Int
    /// What went wrong, with what, and what to do.
    public var message: String
    /// More for programs.
    public var data: Detail?

    /// What an error says to programs.
    public struct Detail: Codable, Hashable, Sendable {
        /// A word that stands for the kind of error.
        public var reason: String
        /// In how many seconds the same request may be answered, if the program knows.
        public var retryAfter: Double?

        /// A detail with its reason.
        public init(reason: String, retryAfter: Double? = nil) {
            self.reason = reason
            self.retryAfter = retryAfter
        }
    }

    /// One of our kinds of error: its number and its word.
    public struct Reason: Hashable, Sendable {
        /// The positive code.
        public let code: Int
        /// The word.
        public let word: String

        private init(_ code: Int, _ word: String) {
            self.code = code
            self.word = word
        }

        /// It runs already; starting it twice is refused.
        public static let alreadyRunning = Reason(1, "alreadyRunning")
        /// It is over and can't be used again.
        public static let finished = Reason(2, "finished")
        /// No such stream.
        public static let unknownStream = Reason(3, "unknownStream")
        /// A parameter has a value that makes no sense.
        public static let invalidParameter = Reason(4, "invalidParameter")
        /// No such session.
        public static let unknownSession = Reason(5, "unknownSession")
        /// The publisher has started anew since that epoch.
        public static let unknownEpoch = Reason(6, "unknownEpoch")
        /// It is not running.
        public static let notRunning = Reason(7, "notRunning")
        /// What was asked for is not built yet.
        public static let unsupported = Reason(8, "unsupported")
        /// Writing or reading a file failed.
        public static let inputOutput = Reason(9, "inputOutput")
        /// It took longer than the time limit.
        public static let timedOut = Reason(10, "timedOut")
        /// The program is stopping.
        public static let stopping = Reason(11, "stopping")
        /// The disk has too little room.
        public static let noSpace = Reason(12, "noSpace")
        /// No such log.
        public static let unknownLog = Reason(13, "unknownLog")
        /// There is one of this name.
        public static let alreadyExists = Reason(14, "alreadyExists")
        /// It would delete files, and was not told that it may.
        public static let wouldDelete = Reason(15, "wouldDelete")
        /// Not so much can be removed.
        public static let notEnough = Reason(16, "notEnough")
        /// There may not be more of them.
        public static let tooMany = Reason(17, "tooMany")
        /// The session continues, or is being finished.
        public static let notOver = Reason(18, "notOver")
        /// The asker's key has not the role that this needs.
        public static let notAllowed = Reason(19, "notAllowed")
        /// The program has too much to do at this moment.
        public static let busy = Reason(20, "busy")
        /// The publisher's source does not have these samples: a client says that it can't send them any more.
        public static let notInSource = Reason(21, "notInSource")
        /// The same, and their number is estimated: something was lost on the way to the publisher that has no count of samples.
        public static let estimated = Reason(22, "estimated")
    }

    /// An error of one of our kinds.
    /// - Parameter retryAfter: in how many seconds the same request may be answered.
    public init(_ reason: Reason, _ message: String, retryAfter: Double? = nil) {
        code = reason.code
        self.message = message
        data = Detail(reason: reason.word, retryAfter: retryAfter)
    }

    private init(code: Int, _ message: String) {
        self.code = code
        self.message = message
    }

    /// −32700: what was sent is not JSON.
    public static func notJSON(_ message: String) -> RequestError { RequestError(code: -32700, message) }
    /// −32600: it is JSON, and no request.
    public static func invalidRequest(_ message: String) -> RequestError { RequestError(code: -32600, message) }
    /// −32601: no such method.
    public static func unknownMethod(_ message: String) -> RequestError { RequestError(code: -32601, message) }
    /// −32602: a parameter is missing or of the wrong type.
    public static func invalidParams(_ message: String) -> RequestError { RequestError(code: -32602, message) }
    /// −32603: our own mistake.
    public static func internalError(_ message: String) -> RequestError { RequestError(code: -32603, message) }

    /// The message.
    public var description: String { message }
}

extension RequestError {
    /// Refuses a request in which something is not right.
    /// - Parameter sentence: what is wrong, and what to write instead.
    package static func require(
        _ isRight: Bool, _ sentence: @autoclosure () -> String, _ reason: Reason = .invalidParameter
    ) throws(RequestError) {
        if !isRight { throw RequestError(reason, sentence()) }
    }
}
