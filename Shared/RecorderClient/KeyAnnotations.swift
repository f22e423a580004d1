import MessageBus
import Messages
import Recording
import ServiceKit
import Synchronization
import ZeroMQ

/// Annotates a session when keys are pressed.
///
/// A key waits until the recorder has answered, even if the recorder is unreachable for a while, the session has ended
/// meanwhile, or another machine has yet to continue it. An annotation with the same time is stored only once, so
/// requests are repeated.
final class KeyAnnotations: Sendable {
    /// How many keys may wait while a recorder is unreachable. Further keys are ignored.
    private static let maximumWaiting = 1_000
    /// Seconds before a refused request is repeated, if the recorder does not say.
    private static let retryInterval = 1.0

    private let keys: KeyInput
    private let recorder: RequestClient
    /// How long the recorder may take to answer.
    private let timeout: Duration
    private let session: String
    private let startDate: WallTime
    private let waiting = Mutex<[KeyInput.Press]>([])
    /// Yields when keys wait.
    private let arrivals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    /// - Parameter startDate: the session's start: times are printed since then.
    init(
        of keys: KeyInput, in session: String, since startDate: WallTime, recorder: RequestClient, timeout: Duration
    ) {
        self.keys = keys
        self.session = session
        self.startDate = startDate
        self.recorder = recorder
        self.timeout = timeout
        (arrivals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads keys and adds their annotations, until the input's end.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { self.continuation.finish() }
                try await self.keys.read { self.take($0) }
            }
            group.addTask {
                for await _ in self.arrivals { try await self.send() }
            }
            try await group.waitForAll()
        }
    }

    private func take(_ press: KeyInput.Press) {
        waiting.withLock { waiting in
            if waiting.count < Self.maximumWaiting { waiting.append(press) }
        }
        continuation.yield()
    }

    /// Adds the annotations of the keys that still wait, the first key first. After `limit`, no request is repeated.
    func sendRest(within limit: Duration) async { try? await send(until: ContinuousClock.now + limit) }

    /// - Parameter end: when to stop repeating requests and give up; nil to repeat them until cancelled.
    private func send(until end: ContinuousClock.Instant? = nil) async throws {
        var refusal: String?
        while let press = waiting.withLock({ $0.first }) {
            let request = RecordingAnnotate(session: session, label: press.label, from: date(of: press))
            do {
                let reply = try await recorder.send(request, timeout: timeout)
                StandardStream.output.print("\n\(reply.annotation.sentence(since: startDate))\n")
            } catch let error as ZeroMQError where error.code == .timedOut {
                if let end, end <= .now { throw error }
                continue
            } catch let error as RequestError where error.isPassing || error.isOf(.unknownSession) {
                if let end, end <= .now { throw error }
                if refusal != "\(error)" { StandardStream.output.print("\n\(press.label) waits: \(error)\n") }
                refusal = "\(error)"
                try await ContinuousClock().sleep(for: .seconds(error.data?.retryAfter ?? Self.retryInterval))
                continue
            } catch let error as RequestError {
                StandardStream.output.print("\n\(press.label) was not kept: \(error)\n")
            }
            waiting.withLock { waiting in _ = waiting.removeFirst() }
        }
    }

    private func date(of press: KeyInput.Press) -> WallTime { max(press.date, startDate) }

    /// Restores the terminal, and names the annotations that the recorder has not confirmed.
    func end() {
        keys.restore()
        for press in waiting.withLock({ $0 }) {
            // To the microsecond, as on the wire, so that the recorder recognises an annotation that it has.
            let microseconds =
                date(of: press).nanosecondsSince1970 / 1_000 - startDate.nanosecondsSince1970 / 1_000
            let time = TextColumns.decimal(Double(microseconds) / 1e6, places: 6)
            StandardStream.error.print(
                "\(press.label) at \(time) s may be missing, because the recorder did not confirm it: "
                    + "recorder annotate \(session) '\(press.label)' --from \(time)s adds it\n")
        }
    }
}
