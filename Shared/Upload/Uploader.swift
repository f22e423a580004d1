import ZeroMQ

/// Brings archives to their receiver: several at a time, within a bandwidth.
///
/// ```swift
/// let confirmation = try await uploader.upload(archive)
/// ```
///
/// A file may be given again at any time, also after a crash: what the receiver has already is confirmed and not sent,
/// and a file that goes in parts continues those that are missing. If an error says that it may succeed later,
/// give the file again later (`RetryPolicy`); if it says `never`, when a person asks for it.
package actor Uploader {
    private let receiver: any Receiver
    private let limit: BandwidthLimit?
    private let sizes: PartPlan.Sizes
    /// Each has a thread, and the number of files that were given to it.
    private var workers: [(worker: UploadWorker, files: Int)] = []
    /// What is known of files whose last try failed, by name, so that their hashes are taken once.
    private var digests: [String: FileDigests] = [:]

    /// Starts the threads.
    /// - Parameters:
    ///   - count: how many files are uploaded at a time; more than that wait.
    ///   - bytesPerSecond: what all of them together send at most.
    init(
        to receiver: any Receiver, count: Int = 1, bytesPerSecond: Int? = nil, options: HTTPOptions = HTTPOptions(),
        sizes: PartPlan.Sizes = PartPlan.Sizes()
    ) throws(ZeroMQError) {
        self.receiver = receiver
        self.sizes = sizes
        limit = bytesPerSecond.map { BandwidthLimit(bytesPerSecond: $0) }
        for number in 1...max(count, 1) {
            workers.append((try UploadWorker(number, receiver: receiver, options: options), 0))
        }
    }

    /// Tries once to bring a file to the receiver. Cancelling the task ends it within a second or so.
    /// - Returns: what the receiver confirmed: it has the file, all of it.
    package func upload(_ file: UploadFile) async throws(UploadError) -> UploadConfirmation {
        let source = try SourceFile(file, sizes: sizes, digests: digests[file.name])
        let throttle = UploadThrottle(limit: limit)
        let index = workers.indices.min { workers[$0].files < workers[$1].files } ?? 0
        workers[index].files += 1
        let worker = workers[index].worker
        let result = await withTaskCancellationHandler {
            await worker.upload(source, throttle)
        } onCancel: {
            throttle.cancel()
        }
        workers[index].files -= 1
        digests[file.name] = (try? result.get()) == nil ? source.knownDigests : nil
        return try result.get()
    }

    /// Forgets what is known of a file that is not given again.
    package func forget(_ name: String) { digests[name] = nil }
}
