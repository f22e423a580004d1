/// An error that a client receives as the `error` of a reply.
package protocol RequestFailure: Error {
    var refusal: RequestError { get }
}

extension RequestError: RequestFailure {
    package var refusal: RequestError { self }
}
