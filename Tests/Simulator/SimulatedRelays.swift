import Files
import Messages
import RelayCore
import SystemPackage
import TestSupport

/// The path of streams from sites to the recorder: a relay at each site, servers, and a relay at the centre.
final class SimulatedRelays {
    /// The faults of a run: each seed leaves some out.
    struct Faults {
        var sendingKills = true
        var servingKills = true
        var serverKills = true
        var powerCuts = true
        var lostDisks = true
        /// Sites, or the centre, that reach no server.
        var siteOutages = true
        var centreOutages = true
        var leaderChanges = true
        /// Servers that reach no other server.
        var serversApart = true
        var fullStream = true
        /// Messages that arrive after seconds, including those of a relay that has ended.
        var slowPaths = true
        /// Answers and acknowledgements that are lost while the connection stays open.
        var lostAnswers = true
        /// Whether a replica of old servers loses messages.
        var losesInReplica = true
    }

    unowned let simulation: Simulation
    let faults: Faults
    let servers: SimulatedServers
    private(set) var sending: [SimulatedSendingRelay] = []
    let serving: SimulatedServingRelay
    /// The samples published by the relay at the centre, and when, by stream and epoch.
    private var served: [StreamName: [String: [(range: Range<Int>, time: Int64)]]] = [:]
    var isOver = false

    init(in data: FilePath, of simulation: Simulation) throws {
        self.simulation = simulation
        func happens() -> Bool { simulation.happens(0.5) }
        let isOld = simulation.happens(0.3)
        faults = Faults(
            sendingKills: happens(), servingKills: happens(), serverKills: happens(), powerCuts: happens(),
            lostDisks: simulation.happens(0.2), siteOutages: happens(), centreOutages: happens(),
            leaderChanges: happens(), serversApart: happens(), fullStream: simulation.happens(0.3),
            slowPaths: happens(), lostAnswers: happens(), losesInReplica: happens())
        let windows: [Int64] = [3_600, 3_600, 120, 20]
        servers = SimulatedServers(
            SimulatedServers.Plan(
                isOld: isOld, duplicateWindow: windows[simulation.number(0...3)] * 1_000_000_000), of: simulation)
        serving = SimulatedServingRelay(servers, of: simulation)
        for number in 0..<simulation.number(1...2) { try addSite(number, in: data) }
    }

    private func addSite(_ number: Int, in data: FilePath) throws {
        let directory = data.appending("site-\(number)")
        let attic = directory.appending("attic")
        try Directory(directory).create()
        try Directory(attic).create()
        let plan = SimulatedSendingRelay.Plan(
            site: "site-\(number)",
            spoolLimit: simulation.happens(0.7) ? 1 << 30 : simulation.number(200_000...400_000),
            segmentLength: simulation.happens(0.5) ? 16 << 20 : simulation.number(4_000...200_000),
            windowBytes: simulation.happens(0.5) ? 32 << 20 : simulation.number(10_000...200_000),
            loadBytes: simulation.happens(0.5) ? 4 << 20 : simulation.number(1_000...50_000))
        let disk = VirtualDisk(attic: attic, hasGarbage: true, random: SplitMix(seed: simulation.seed()))
        let clock = MachineClock(
            uptime: Int64(simulation.number(1_000...100_000)) * 1_000_000_000,
            ahead: simulation.happens(0.5) ? 0 : Int64(simulation.number(-500...500)) * 1_000_000)
        sending.append(
            SimulatedSendingRelay(plan, clock: clock, servers, disk: disk, in: directory, of: simulation))
    }

    /// The relay of a publisher's site.
    func relay(of publisher: Int) -> SimulatedSendingRelay { sending[publisher % sending.count] }

    var links: [ServersLink] { sending.map(\.link) + [serving.link] }

    /// Whether to lose an answer of the servers.
    func losesAnswer() -> Bool { faults.lostAnswers && !isOver && simulation.happens(0.01) }

    func close() { for relay in sending { relay.disk.close() } }

    // MARK: Oracle

    /// Notes a message published by the relay at the centre.
    func noteServed(_ message: Serving.Message) {
        guard let place = message.content.place else { return }
        let name = message.content.name
        served[name, default: [:]][place.epoch, default: []].append((place.from..<place.end, simulation.now))
    }

    /// When the relay at the centre first published a sample; nil if it never did.
    func servedAt(_ sequence: Int, of epoch: String, _ name: StreamName) -> Int64? {
        served[name]?[epoch]?.first { $0.range.contains(sequence) }?.time
    }

    /// When the relay at the centre first published a sample of a later run.
    func leftAt(_ epoch: String, of name: StreamName) -> Int64? {
        let epochs = simulation.oracle.epochs[name] ?? []
        guard let index = epochs.lastIndex(where: { $0.name == epoch }) else { return nil }
        return epochs[(index + 1)...].compactMap { served[name]?[$0.name]?.first?.time }.min()
    }

    /// When a sample was stored; nil if it is not stored.
    func storedAt(_ sequence: Int, of epoch: String, _ name: StreamName) -> Int64? {
        servers.samples[name]?[epoch]?.first { $0.range.contains(sequence) }?.time
    }
}
