import ZeroMQ

/// Uploads archives to their receiver, several at a time and within a bandwidth.
///
/// ```swift
/// let confirmation = try await uploader.upload(archive)
/// ```
///
/// A file can be passed again at any time, even after a crash: a file that the receiver has is confirmed without being sent, and
/// an upload in parts sends only the missing parts. If an error's `retry` allows a later attempt, pass the file again later
/// (`RetryPolicy`); if it is `never`, only when a person requests it.
package actor Uploader {
    private let receiver: any Receiver
    private let limit: BandwidthLimit?
    private let sizes: PartPlan.Sizes
    /// Each worker has a thread, and the number of files assigned to it.
    private var workers: [(worker: UploadWorker, files: Int)] = []
    /// The hashes of files whose last attempt failed, by name, so that they are computed once.
    private var digests: [String: FileDigests] = [:]

    /// - Parameters:
    ///   - count: the number of simultaneous uploads; further files wait.
    ///   - bytesPerSecond: the limit for all uploads together.
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

    /// Makes one attempt to upload a file. Cancelling the task ends the attempt within about a second.
    /// - Returns: the receiver's confirmation that it has the complete file.
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

    /// Forgets the hashes of a file that will not be passed again.
    package func forget(_ name: String) { digests[name] = nil }
}
