import Glibc
import Messages
import PublisherCore
import Runtime
import SensorReaders
import ServiceKit
import SystemPackage
import ZeroMQ

/// Receives and parses datagrams on a thread of its own, so that no other stream's samples are delayed.
actor DatagramReceiver {
    /// The most datagrams received in one turn.
    private static let turn = 64

    private let socket: DatagramSocket
    private let thread: SocketThread
    /// The text printed at the start.
    nonisolated let greeting: String

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the socket; nil without `udp`.
    /// - Throws: `ServiceError` if the address is in use or is not one of this machine.
    init?(_ settings: PublisherSettings) throws {
        guard let address = settings.udp else { return nil }
        do throws(Errno) {
            socket = try DatagramSocket(host: address.host, port: address.port)
        } catch {
            throw ServiceError(
                error == .invalidArgument ? .badConfiguration : .inputOutput,
                "datagrams can't be received at \(address): \(error); choose another port or host with --udp")
        }
        thread = try SocketThread(name: "datagrams")
        greeting =
            "sensor-publisher: datagrams are taken at \(address.place(port: socket.port, forAll: ThisMachine.address))\n"
    }

    /// Receives datagrams until the task is cancelled.
    func run(_ engine: SamplingEngine) async throws {
        while true {
            _ = try await thread.readable(descriptor: socket.descriptor)
            let (datagrams, dropped) = take()
            if !datagrams.isEmpty { await engine.take(datagrams, dropped: dropped) }
            try Task.checkCancellation()
        }
    }

    private func take() -> (datagrams: [Datagram], dropped: Int) {
        var datagrams: [Datagram] = []
        var dropped = 0
        let arrival = SamplingEngine.clock().monotonic
        for _ in 0..<Self.turn {
            do throws(Errno) {
                guard let received = try socket.receive() else { break }
                dropped = max(dropped, received.dropped ?? 0)
                datagrams.append(Datagram(received.bytes, from: received.source, at: arrival))
            } catch {
                // A network error reported late concerns one datagram only.
                continue
            }
        }
        return (datagrams, dropped)
    }
}

extension SamplingEngine {
    /// Hands datagrams to the core.
    /// - Parameter dropped: the number of datagrams dropped by the kernel since the socket was opened.
    func take(_ datagrams: [Datagram], dropped: Int) {
        begin()
        core.noteDroppedDatagrams(dropped)
        for datagram in datagrams {
            core.take(datagram, as: questionsAsked + 1, at: now)
            questionsAsked += datagram.messages.count
        }
        perform()
    }
}
