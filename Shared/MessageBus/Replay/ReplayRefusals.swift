package import Messages

/// Decides whether requested samples are gone for good. They are if the publisher refuses at the endpoint that it announces,
/// and was asked at its other endpoint too: at either one, another program may answer that knows nothing of them.
///
/// Other refusals do not concern the samples, such as those of a key that is briefly off the list, or of a publisher that is
/// stopping or busy.
package struct ReplayRefusals: Sendable {
    private var asked: Set<String> = []
    private var isRefusedWhereAnnounced = false
    private var reason: Gap.Reason?

    package init() {}

    /// Records the outcome of a request.
    /// - Parameters:
    ///   - refusal: the refusal; nil if there was no reply.
    ///   - endpoint: the endpoint that was asked.
    ///   - announced: the endpoint that the publisher announces.
    package mutating func note(_ refusal: RequestError?, at endpoint: String, of announced: String) {
        asked.insert(endpoint)
        guard let refusal, let reason = Self.reason(refusal) else { return }
        if endpoint == announced { isRefusedWhereAnnounced = true }
        // A program that knows the stream takes precedence over one that does not.
        if self.reason == nil || self.reason == .notRetained { self.reason = reason }
    }

    /// Why the samples are gone; nil if that is not certain.
    /// - Parameter places: all endpoints of the publisher.
    package func verdict(asking places: Set<String>) -> Gap.Reason? {
        isRefusedWhereAnnounced && places.isSubset(of: asked) ? reason : nil
    }

    private static func reason(_ refusal: RequestError) -> Gap.Reason? {
        switch refusal.data?.reason {
        case RequestError.Reason.unknownEpoch.word: .epochEnded
        case RequestError.Reason.unknownStream.word: .notRetained
        case RequestError.Reason.notInSource.word: .notInSource
        case RequestError.Reason.estimated.word: .estimated
        default: nil
        }
    }
}
