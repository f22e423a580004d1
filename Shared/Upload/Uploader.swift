import ZeroMQ

/// Brings archives to their receiver: several at a time, within a bandwidth, and again where that may help.
///
/// ```swift
/// let confirmation = try await uploader.upload(archive) { logger.warning("…", error: $0.error) }
/// ```
///
/// A file may be given again at any time, also after a crash: what the receiver has already is confirmed and not sent,
/// and a file that goes in parts goes on with those that are missing. Where an error says that it may succeed later,
/// give the file again later; where it says `never`, when a person asks for it.
package actor Uploader {
    private let receiver: any Receiver
    private let policy: RetryPolicy
    private let limit: BandwidthLimit?
    private let sizes: PartPlan.Sizes
    private var idle: [UploadWorker] = []
    private var waiting: [(number: Int, wake: AsyncStream<Void>.Continuation)] = []
    private var nextNumber = 0

    /// Starts the threads.
    /// - Parameters:
    ///   - count: how many files are uploaded at a time.
    ///   - bytesPerSecond: what all of them together send at most.
    init(
        to receiver: any Receiver, count: Int = 1, bytesPerSecond: Int? = nil, policy: RetryPolicy = RetryPolicy(),
        options: HTTPOptions = HTTPOptions(), sizes: PartPlan.Sizes = PartPlan.Sizes()
    ) throws(ZeroMQError) {
        self.receiver = receiver
        self.policy = policy
        self.sizes = sizes
        limit = bytesPerSecond.map { BandwidthLimit(bytesPerSecond: $0) }
        for number in 1...max(count, 1) {
            idle.append(try UploadWorker(number, receiver: receiver, options: options))
        }
    }

    /// Brings a file to the receiver, in its turn. Cancelling the task ends it within a second or so.
    /// - Parameter retrying: is told of each failure after which it is tried again.
    /// - Returns: what the receiver confirmed: it has the file, all of it.
    package func upload(
        _ file: UploadFile, retrying: @Sendable (UploadRetry) -> Void = { _ in }
    ) async throws(UploadError) -> UploadConfirmation {
        // Open until it is there, so that its hashes are taken once.
        let source = try SourceFile(file, sizes: sizes)
        var random = SystemRandomNumberGenerator()
        var attempt = 1
        while true {
            do throws(UploadError) {
                return try await attemptUpload(source)
            } catch {
                guard error.code != .cancelled,
                    let delay = policy.delay(afterAttempt: attempt, error: error, using: &random)
                else { throw error }
                retrying(UploadRetry(attempt: attempt, error: error, delay: delay))
                // While it waits, others have the thread.
                guard (try? await Task.sleep(for: delay)) != nil else { throw cancelled(file) }
                attempt += 1
            }
        }
    }

    private func attemptUpload(_ source: SourceFile) async throws(UploadError) -> UploadConfirmation {
        let worker = try await takeWorker(for: source.archive)
        let throttle = UploadThrottle(limit: limit)
        let result = await withTaskCancellationHandler {
            await worker.upload(source, throttle)
        } onCancel: {
            throttle.cancel()
        }
        idle.append(worker)
        wakeOne()
        return try result.get()
    }

    /// Waits for a thread that has nothing to do; who came first is served first, but for one that comes just then.
    private func takeWorker(for file: UploadFile) async throws(UploadError) -> UploadWorker {
        while true {
            if Task.isCancelled {
                // It may have been woken for a thread that now another one should have.
                wakeOne()
                throw cancelled(file)
            }
            if let worker = idle.popLast() { return worker }
            let (turn, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            nextNumber += 1
            let number = nextNumber
            waiting.append((number, wake))
            for await _ in turn { break }
            waiting.removeAll { $0.number == number }
        }
    }

    private func wakeOne() {
        guard !idle.isEmpty, !waiting.isEmpty else { return }
        waiting.removeFirst().wake.yield()
    }

    private func cancelled(_ file: UploadFile) -> UploadError { .cancelled(at: receiver.location(of: file.name)) }
}
