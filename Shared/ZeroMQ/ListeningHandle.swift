import CZeroMQ
import Glibc

/// A socket of libzmq's that listens, as the kernel knows it: it can be closed to newcomers for a while.
struct ListeningHandle: Sendable {
    private let socket: SocketIdentity?

    /// - Parameters:
    ///   - descriptor: the one that libzmq told of.
    ///   - endpoint: where it listens.
    init(descriptor: Int32, endpoint: String) {
        socket = endpoint.hasPrefix("tcp://") ? SocketIdentity(descriptor) : nil
    }

    /// Has the kernel throw away what comes from newcomers (socket(7), SO_ATTACH_FILTER): their machines try again after
    /// a second. Who is connected notices nothing.
    func shut() {
        socket?.withCopy { copy in
            // "Return 0", of the packet's bytes that are kept.
            var instruction = sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0)
            withUnsafeMutablePointer(to: &instruction) { instruction in
                var program = sock_fprog(len: 1, filter: instruction)
                _ = setsockopt(
                    copy, SOL_SOCKET, SO_ATTACH_FILTER, &program, socklen_t(MemoryLayout<sock_fprog>.size))
            }
        }
    }

    /// Lets newcomers in again.
    func open() {
        socket?.withCopy { copy in
            var unused: Int32 = 0
            _ = setsockopt(copy, SOL_SOCKET, SO_DETACH_FILTER, &unused, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
