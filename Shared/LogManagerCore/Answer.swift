package import Messages

/// The answer to a request; it may arrive some effects later.
package final class Answer<Reply> {
    /// Nil until the request is answered.
    package private(set) var result: Result<Reply, RequestError>?

    init() {}

    func give(_ reply: Reply) { result = .success(reply) }
    func refuse(_ error: RequestError) { result = .failure(error) }
}
