/// Tells one waiting task that there is something to do. Raised twice before that looks, it is once.
struct Signal: Sendable {
    let raised: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (raised, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func raise() { continuation.yield() }
}
