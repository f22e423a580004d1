import Files
import Hashing
import Messages
import Recording

/// Asks for samples, and decides what refusals mean for the requests that follow.
struct ReplayRequests {
    enum Answer {
        case reply(SamplesReplay.Reply, ArraySlice<[UInt8]>)
        case none(Refusal)
    }

    /// Why no samples came.
    struct Refusal {
        /// What need not be asked for any more.
        enum Scope { case gap, epoch, stream, everything }

        let scope: Scope
        let note: String
    }

    /// Answers in a row that there is too much to do, and a request is repeated: about a minute. Then each other request is sent
    /// once, until something else is answered.
    static let maximumBusyAnswers = 30
    /// Seconds before a request is repeated, unless the answer asks for more.
    private static let shortestPause = 0.25
    private static let longestPause = 2.0
    /// What an answer may ask for.
    private static let longestWait = 10.0

    private let endpoint: String
    private let replies: any SampleReplies
    private var busyAnswers = 0
    /// What was received of the present device.
    private var hash = SHA256()
    private var bytes = 0

    init(to endpoint: String, by replies: any SampleReplies) {
        self.endpoint = endpoint
        self.replies = replies
    }

    /// Begins with another device.
    mutating func beginDevice() {
        hash = SHA256()
        bytes = 0
    }

    /// What was received of the device.
    var source: SessionRecord.Source {
        SessionRecord.Source(name: endpoint, bytes: bytes, sha256: hash.finalize().hexDigits)
    }

    /// Asks, and asks again while there is too much to do.
    mutating func ask(_ request: SamplesReplay) async -> Answer {
        while true {
            do {
                let (reply, frames) = try await replies.answer(request)
                busyAnswers = 0
                for frame in frames {
                    frame.withUnsafeBytes { hash.update(bufferPointer: $0) }
                    bytes += frame.count
                }
                return .reply(reply, frames)
            } catch let error as RequestError where error.data?.reason == RequestError.Reason.busy.word {
                guard await repeats(after: error) else {
                    return refuse(
                        .gap,
                        "\(endpoint) was too busy to answer (\(error)): fill the session again when it has less to do")
                }
            } catch let error as RequestError {
                busyAnswers = 0
                return refuse(Self.scope(of: error), "\(endpoint) says: \(error)")
            } catch let error as MessageError {
                busyAnswers = 0
                return refuse(.gap, "what \(endpoint) answered can't be read: \(error.message)")
            } catch {
                return refuse(
                    .everything,
                    "no answer came from \(endpoint) (\(error)): check that a publisher or a relay answers there, and fill the "
                        + "session again")
            }
        }
    }

    private func refuse(_ scope: Refusal.Scope, _ note: String) -> Answer { .none(Refusal(scope: scope, note: note)) }

    /// Waits, unless a request was repeated often enough.
    private mutating func repeats(after error: RequestError) async -> Bool {
        guard busyAnswers < Self.maximumBusyAnswers else { return false }
        let pause = min(Self.longestPause, Self.shortestPause * Double(1 << min(busyAnswers, 8)))
        busyAnswers += 1
        let wanted = min(Self.longestWait, error.data?.retryAfter ?? 0)
        // It fails only after a cancellation.
        return (try? await replies.pause(seconds: max(pause, wanted))) != nil
    }

    private static func scope(of error: RequestError) -> Refusal.Scope {
        switch error.data?.reason {
        case RequestError.Reason.unknownStream.word: .stream
        case RequestError.Reason.unknownEpoch.word: .epoch
        case RequestError.Reason.notInSource.word, RequestError.Reason.estimated.word: .gap
        default: .everything
        }
    }
}
