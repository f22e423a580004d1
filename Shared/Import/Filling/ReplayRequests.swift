import Files
import Hashing
import Messages
import Recording

/// Requests samples, and decides what refusals mean for later requests.
struct ReplayRequests {
    enum Answer {
        case reply(SamplesReplay.Reply, ArraySlice<[UInt8]>)
        case none(Refusal)
    }

    /// Why no samples were received.
    struct Refusal {
        /// The requests that are useless after the refusal.
        enum Scope { case gap, epoch, stream, everything }

        let scope: Scope
        let note: String
    }

    /// How many consecutive `busy` replies are answered by a repetition: about a minute. After that, each request is sent only
    /// once, until another kind of reply arrives.
    static let maximumBusyAnswers = 30
    /// Seconds before a request is repeated, unless the reply demands more.
    private static let shortestPause = 0.25
    private static let longestPause = 2.0
    /// The longest wait that a reply may demand, in seconds.
    private static let longestWait = 10.0

    private let endpoint: String
    private let replies: any SampleReplies
    private var busyAnswers = 0
    /// The hash of all frames received for the present device.
    private var hash = SHA256()
    private var bytes = 0

    init(to endpoint: String, by replies: any SampleReplies) {
        self.endpoint = endpoint
        self.replies = replies
    }

    /// Begins another device.
    mutating func beginDevice() {
        hash = SHA256()
        bytes = 0
    }

    /// The data received for the device.
    var source: SessionRecord.Source {
        SessionRecord.Source(name: endpoint, bytes: bytes, sha256: hash.finalize().hexDigits)
    }

    /// Sends a request, and repeats it while the publisher is busy.
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
                return refuse(.gap, "the answer of \(endpoint) can't be read: \(error.message)")
            } catch {
                return refuse(
                    .everything,
                    "\(endpoint) did not answer (\(error)): check that a publisher or a relay answers there, and fill the "
                        + "session again")
            }
        }
    }

    private func refuse(_ scope: Refusal.Scope, _ note: String) -> Answer { .none(Refusal(scope: scope, note: note)) }

    /// Waits and returns true, or returns false if a request was repeated often enough.
    private mutating func repeats(after error: RequestError) async -> Bool {
        guard busyAnswers < Self.maximumBusyAnswers else { return false }
        let pause = min(Self.longestPause, Self.shortestPause * Double(1 << min(busyAnswers, 8)))
        busyAnswers += 1
        let wanted = min(Self.longestWait, error.data?.retryAfter ?? 0)
        // The pause fails only if the task is cancelled.
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
