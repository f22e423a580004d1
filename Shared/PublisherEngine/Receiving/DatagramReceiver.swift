import Glibc
import Messages
import PublisherCore
import Runtime
import SensorReaders
import ServiceKit
import SystemPackage
import ZeroMQ

/// Takes datagrams, and reads them on a thread of its own, so that no sample of another stream is late.
actor DatagramReceiver {
    /// Datagrams that are taken in one turn.
    private static let turn = 64

    private let socket: DatagramSocket
    private let thread: SocketThread
    /// What is printed at the start.
    nonisolated let greeting: String

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the socket; nil without `udp`.
    /// - Throws: `ServiceError` if the address is in use or is not of this machine.
    init?(_ settings: PublisherSettings) throws {
        guard let address = settings.udp else { return nil }
        do throws(Errno) {
            socket = try DatagramSocket(host: address.host, port: address.port)
        } catch {
            throw ServiceError(
                error == .addressNotAvailable || error == .invalidArgument ? .badConfiguration : .inputOutput,
                "datagrams can't be taken at \(address): \(error); give --udp another port or host")
        }
        thread = try SocketThread(name: "datagrams")
        greeting =
            "sensor-publisher: datagrams are taken at \(address.place(port: socket.port, forAll: ThisMachine.address))\n"
    }

    /// Takes datagrams until the task is cancelled.
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
        while datagrams.count < Self.turn {
            do throws(Errno) {
                guard let received = try socket.receive() else { break }
                dropped = max(dropped, received.dropped ?? 0)
                datagrams.append(Datagram(received.bytes, from: received.source, at: arrival))
            } catch {
                // An error of the network that is reported late concerns one datagram.
                continue
            }
        }
        return (datagrams, dropped)
    }
}

extension SamplingEngine {
    /// Takes what came in datagrams.
    /// - Parameter dropped: datagrams that the system threw away so far.
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
