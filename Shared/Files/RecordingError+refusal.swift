package import Messages

extension RecordingError: RequestFailure {
    package var refusal: RequestError {
        let reason: RequestError.Reason =
            switch code {
            case .alreadyRunning: .alreadyRunning
            case .finished, .alreadyExists: .finished
            case .invalidParameter: .invalidParameter
            case .notFound: .unknownSession
            case .noSpace: .noSpace
            default: .inputOutput
            }
        return RequestError(reason, description)
    }
}
