package import Messages

/// Decides whether samples that are asked for are gone: the publisher says so where it announces that it answers, and the other
/// place where it may be was asked too. At either somebody else may answer, who knows nothing of them.
///
/// All other refusals (a key that is off the list for a moment, a publisher that is stopping or at a loss) say nothing of the
/// samples.
package struct ReplayRefusals: Sendable {
    private var asked: Set<String> = []
    private var isRefusedWhereAnnounced = false
    private var reason: Gap.Reason?

    /// Nobody was asked yet.
    package init() {}

    /// Notes what came of a request.
    /// - Parameters:
    ///   - refusal: the answer; nil if there was none.
    ///   - endpoint: where it was asked.
    ///   - announced: where the publisher announces that it answers.
    package mutating func note(_ refusal: RequestError?, at endpoint: String, of announced: String) {
        asked.insert(endpoint)
        guard let refusal, let reason = Self.reason(refusal) else { return }
        if endpoint == announced { isRefusedWhereAnnounced = true }
        // Who knows the stream knows more than who does not.
        if self.reason == nil || self.reason == .notRetained { self.reason = reason }
    }

    /// Why the samples are gone; nil if that is not known.
    /// - Parameter places: all places where to ask the publisher.
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
