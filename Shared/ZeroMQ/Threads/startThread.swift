import CZeroMQ
import Glibc

/// Runs a body on a thread of its own, which ends with the body and can't be joined.
/// - Parameter name: shown by `top -H`; the kernel keeps 15 bytes.
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(ZeroMQError) {
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            holdfast_set_thread_name(String(start.name.prefix(15)))
            start.body()
            return nil
        }, start.toOpaque())
    guard result == 0 else {
        start.release()
        throw ZeroMQError(.init(rawValue: result), during: "pthread_create \(name)")
    }
    pthread_detach(thread)
}

/// The argument of a new thread.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
