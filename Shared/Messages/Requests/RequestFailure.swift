/// An error of which a client is told, as the `error` of a reply.
package protocol RequestFailure: Error {
    /// What the reply says.
    var refusal: RequestError { get }
}

extension RequestError: RequestFailure {
    package var refusal: RequestError { self }
}
