import Glibc
import MessageBus
import Messages
import PublisherCore
package import SampleSources
import SystemPackage
package import ZeroMQ

/// Reads an outlet of LSL: finds it, connects, compares clocks, and takes its samples until the connection ends.
///
/// All waiting, including that for names and connections, is on a thread of its own.
package actor LSLReader: DeviceReader {
    // Durations in nanoseconds.
    /// How long to search for outlets, and the pause between searches meanwhile: datagrams get lost.
    private static let search: Int64 = 2_000_000_000
    private static let searchPause: Int64 = 500_000_000
    /// How long an outlet may take to answer.
    private static let patience: Int64 = 5_000_000_000
    /// How often clocks are compared, and the pause between the questions of a round; both as in liblsl.
    private static let clockInterval: Int64 = 2_000_000_000
    private static let clockPause: Int64 = 64_000_000
    /// After this many rounds without an answer the outlet is searched: a restarted one may have another address.
    private static let silentRounds = 5

    private static let chunkSize = 1 << 16
    private static let longestInformation = 4 << 20
    /// Seconds of samples that the outlet keeps while the network is down.
    private static let buffered = 360.0

    private let thread: SocketThread
    private let settings: StreamConfiguration.LSL
    private let rate: Double?
    private let monotonic: @Sendable () -> Int64
    /// The source ID of the outlet that was connected first: only this outlet is connected again.
    private var sourceID = ""
    private var searches = 0
    private var clock = LSLClock()
    private var remoteClock = RemoteClock(offset: 0, roundTrip: 0, uptime: 0)

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Parameters:
    ///   - rate: the rate of an outlet that gives none, in Hz; nil if it is unknown.
    ///   - monotonic: the clock of uptimes, in nanoseconds.
    package init(
        _ settings: StreamConfiguration.LSL, rate: Double?, monotonic: @escaping @Sendable () -> Int64
    ) throws(ZeroMQError) {
        self.settings = settings
        self.rate = rate
        self.monotonic = monotonic
        thread = try SocketThread(name: "lsl")
    }

    private var seconds: Double { Nanoseconds.seconds(monotonic()) }

    package func read(for stream: any DeviceStream) async throws {
        do {
            let (found, address) = try await find()
            let outlet = try await information(of: found, at: address)
            sourceID = outlet.sourceID
            try await stream.connect(
                TimedInput.Format(
                    fields: outlet.fields, types: outlet.types, unit: outlet.unit, rate: outlet.rate ?? rate,
                    description: outlet.description))
            let prober = try LSLSocket.datagrams()
            let service = LSLAddress(address, port: outlet.servicePort)
            guard try await compareClocks(by: prober, with: service, for: stream) else {
                throw PublisherError(
                    .unreadable,
                    "\(outlet.name) on \(outlet.host) does not report its time: let UDP through to its port \(outlet.servicePort)"
                )
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.takeSamples(of: outlet, at: address, for: stream) }
                group.addTask { try await self.keepComparing(with: service, of: outlet, at: address, for: stream) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch let error as Errno {
            throw PublisherError(
                .unreadable,
                "\(settings.query): \(error); check whether the outlet runs and a firewall lets TCP and UDP through to ports 16571 to 16604"
            )
        }
    }

    // MARK: Finding the outlet

    /// The addresses to send searches to.
    private func targets() throws(PublisherError) -> [LSLAddress] {
        func everyPort(of address: String) -> [LSLAddress] {
            LSLText.ports.compactMap { LSLAddress(address, port: $0) }
        }
        guard !settings.hosts.isEmpty else {
            // An outlet on this machine answers even without multicast, as in containers.
            return LSLText.multicastAddresses.compactMap { LSLAddress($0, port: LSLText.multicastPort) }
                + everyPort(of: "127.0.0.1")
        }
        var targets: [LSLAddress] = []
        for host in settings.hosts {
            switch HostAddresses.lookUp(host) {
            case .found(let addresses): targets += addresses.flatMap(everyPort(of:))
            case .notFound(let reason):
                throw PublisherError(
                    .unreadable, "lsl-host \(host) is not found: \(reason); give a name or an address of IPv4")
            }
        }
        return targets
    }

    /// The only outlet that matches the query.
    /// - Parameter known: the address to take, if it is one of those from which the outlet answers.
    private func find(preferring known: UInt32? = nil) async throws -> (LSLInfo, address: UInt32) {
        let targets = try targets()
        let socket = try LSLSocket.datagrams()
        searches += 1
        let identifier = "\(getpid())\(searches)"
        let question = LSLText.search(
            LSLText.predicate(settings.query, sourceID: sourceID), port: socket.port, identifier: identifier)
        var found: [String: (LSLInfo, address: UInt32)] = [:]
        let end = monotonic() + Self.search
        while monotonic() < end {
            for target in targets { socket.send(question, to: target) }
            let pause = min(end, monotonic() + Self.searchPause)
            // All answers to one search are collected: several outlets may match.
            while try await thread.readable(descriptor: socket.descriptor, deadline: pause) {
                while let answer = try socket.receive() {
                    guard let outlet = LSLText.found(answer.bytes, identifier: identifier) else { continue }
                    if let known, found[outlet.uid]?.address == known { continue }
                    found[outlet.uid] = (outlet, answer.from.address)
                }
            }
            if !found.isEmpty { break }
        }
        guard found.count < 2, let only = found.values.first else {
            let list = found.values.map { "\($0.0.name) (source_id='\($0.0.sourceID)', uid='\($0.0.uid)')" }.sorted()
            throw PublisherError(
                .unreadable,
                found.isEmpty
                    ? "no LSL outlet matches \(settings.query)\(sourceID.isEmpty ? "" : " with source_id='\(sourceID)'"): check whether it "
                        + "runs, and name its machine with --lsl-host if the network does not multicast"
                    : "several LSL outlets match \(settings.query): \(list.joined(separator: ", ")); add one's source_id to --lsl"
            )
        }
        return only
    }

    /// The outlet's full description.
    private func information(of outlet: LSLInfo, at address: UInt32) async throws -> LSLInfo {
        let connection = try LSLSocket.connection(to: LSLAddress(address, port: outlet.dataPort))
        try connection.send(LSLText.information)
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        let deadline = monotonic() + Self.patience
        while all.count <= Self.longestInformation {
            guard try await thread.readable(descriptor: connection.descriptor, deadline: deadline) else {
                throw Errno.timedOut
            }
            guard let count = try connection.read(into: &chunk) else { continue }
            guard count > 0 else { return try LSLInfo(xml: String(decoding: all, as: UTF8.self)) }
            all += chunk[..<count]
        }
        throw PublisherError(.invalidInput, "the outlet's description has more than \(Self.longestInformation) bytes")
    }

    // MARK: Clocks

    /// Asks the outlet's clock for one round.
    /// - Returns: whether there were enough answers.
    private func compareClocks(
        by socket: LSLSocket, with service: LSLAddress, for stream: any DeviceStream
    ) async throws -> Bool {
        let wave = clock.begin()
        for question in 1...LSLClock.questions {
            socket.send(LSLText.clock(wave: wave, sent: seconds), to: service)
            // Late answers get more time after the last question.
            let pause = question == LSLClock.questions ? 5 * Self.clockPause : Self.clockPause
            let deadline = monotonic() + pause
            while !clock.isComplete, try await thread.readable(descriptor: socket.descriptor, deadline: deadline) {
                let received = seconds
                while let answer = try socket.receive() { clock.take(answer.bytes, received: received) }
            }
        }
        guard let result = clock.result else { return false }
        remoteClock = result
        await stream.note(result)
        return true
    }

    /// Compares clocks until the outlet has a new place or successor.
    ///
    /// One that does not answer may be behind a network that is down. It keeps samples for its connection, and a new connection
    /// would begin without them: as in liblsl, only another outlet ends it. `LSLSocket` notices if the connection is gone.
    private func keepComparing(
        with service: LSLAddress, of outlet: LSLInfo, at address: UInt32, for stream: any DeviceStream
    ) async throws {
        let socket = try LSLSocket.datagrams()
        var silent = 0
        while true {
            try await wait(until: monotonic() + Self.clockInterval, leavingOut: socket)
            silent = try await compareClocks(by: socket, with: service, for: stream) ? 0 : silent + 1
            guard silent >= Self.silentRounds, let (found, place) = try await findAgain(at: address) else { continue }
            if found.uid == outlet.uid, place == address { continue }
            throw PublisherError(
                .unreadable, "\(outlet.name) on \(outlet.host) was restarted or has another address; it is reconnected")
        }
    }

    /// The only outlet that matches the query now; nil if none does, or several do.
    private func findAgain(at address: UInt32) async throws -> (LSLInfo, address: UInt32)? {
        do {
            return try await find(preferring: address)
        } catch is PublisherError {
            return nil
        }
    }

    /// Waits, and discards answers that are too late for their round.
    private func wait(until deadline: Int64, leavingOut socket: LSLSocket) async throws {
        while try await thread.readable(descriptor: socket.descriptor, deadline: deadline) {
            while try socket.receive() != nil {}
        }
    }

    // MARK: Samples

    private func takeSamples(of outlet: LSLInfo, at address: UInt32, for stream: any DeviceStream) async throws {
        let connection = try LSLSocket.connection(to: LSLAddress(address, port: outlet.dataPort))
        try connection.send(LSLText.feed(of: outlet, buffer: outlet.samples(inSeconds: Self.buffered)))
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        var answer: [UInt8] = []
        var samples: LSLSamples?
        let deadline = monotonic() + Self.patience
        while true {
            guard
                try await thread.readable(descriptor: connection.descriptor, deadline: samples == nil ? deadline : nil)
            else {
                throw Errno.timedOut
            }
            guard let count = try connection.read(into: &chunk) else { continue }
            guard count > 0 else {
                throw PublisherError(
                    .unreadable, "\(outlet.name) on \(outlet.host) has ended; it is reconnected when it is back")
            }
            var bytes = chunk[..<count]
            if samples == nil {
                answer += bytes
                guard let accepted = try LSLText.accepted(answer) else { continue }
                samples = LSLSamples(of: outlet, isBigEndian: accepted.isBigEndian)
                bytes = answer[accepted.length...]
            }
            guard let rows = try samples?.take(bytes), rows.count > 0 else { continue }
            let shift = -(Nanoseconds.from(seconds: remoteClock.offset) ?? 0)
            await stream.take(rows, on: .monotonic, shiftedBy: shift)
        }
    }
}
