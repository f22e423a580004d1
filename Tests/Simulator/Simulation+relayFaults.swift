import Messages
import RelayCore

/// The injection of faults into relays and servers.
extension Simulation {
    func planRelayFaults() {
        later(faults.pause) { [self] in
            guard !isOver else { return }
            try injectRelayFault()
            planRelayFaults()
        }
    }

    private func injectRelayFault() throws {
        guard let relays else { return }
        faultCount += 1
        if skipped.contains(faultCount) { return }
        let faults = relays.faults
        let (site, server) = (number(0...(relays.sending.count - 1)), number(0...2))
        switch number(0...10) {
        case 0 where faults.sendingKills: try killSendingRelay(site)
        case 1 where faults.servingKills:
            guard relays.serving.isRunning else { break }
            note("the centre's relay is killed")
            endServingRelay()
        case 2...3 where faults.serverKills: killServer(server)
        case 4 where faults.siteOutages: cut(relays.sending[site].link, of: "site-\(site)")
        case 5 where faults.centreOutages: cut(relays.serving.link, of: "the centre")
        case 6 where faults.leaderChanges:
            note("the servers' leader steps down")
            relays.servers.stepDown()
        case 7 where faults.serversApart: part(server)
        case 8 where faults.fullStream:
            note("the stream is full")
            relays.servers.isFull = true
            later(1_000_000_000...8_000_000_000) { [self] in
                note("the stream has room")
                relays.servers.isFull = false
            }
        case 9 where self.faults.drops: dropServed()
        case 10 where self.faults.cuts: cutServed()
        default: break
        }
    }

    // MARK: Relays

    func startSendingRelay(_ site: Int) throws {
        guard let relay = relays?.sending[site], !relay.isRunning else { return }
        try relay.start()
        note("the relay of site-\(site) runs")
        for index in publishers.indices where relays?.relay(of: index) === relay {
            connections[.relay]?[index].standsFrom = now + Int64(number(20_000_000...300_000_000))
        }
    }

    private func killSendingRelay(_ site: Int) throws {
        guard let relays, relays.sending[site].isRunning else { return }
        let relay = relays.sending[site]
        counts.relay.sendingKills += 1
        let cutsPower = relays.faults.powerCuts && happens(0.4)
        if happens(0.2) {
            note("the relay of site-\(site) is stopped")
            relay.stop()
            let life = relay.life
            later(0...2_000_000_000) { [self] in if relay.life == life { try endSendingRelay(site, cutsPower: false) } }
        } else {
            note(cutsPower ? "the power of site-\(site) is cut" : "the relay of site-\(site) is killed")
            try endSendingRelay(site, cutsPower: cutsPower)
        }
    }

    private func endSendingRelay(_ site: Int, cutsPower: Bool) throws {
        guard let relays else { return }
        let relay = relays.sending[site]
        try relay.kill(cutsPower: cutsPower)
        if relays.faults.lostDisks, happens(0.3) {
            counts.relay.lostDisks += 1
            note("the disk of site-\(site) is lost")
            try relay.loseDisk()
        }
        let pause: ClosedRange<Int64> =
            happens(0.8) ? 50_000_000...3_000_000_000 : 3_000_000_000...15_000_000_000
        later(pause) { [self] in try startSendingRelay(site) }
    }

    func startServingRelay() {
        guard let relay = relays?.serving, !relay.isRunning, clock.sleep == nil else { return }
        relay.start()
        note("the centre's relay runs")
        connections[.recorder]?[0].standsFrom = now + Int64(number(20_000_000...300_000_000))
    }

    /// Call this when the relay at the centre ends, alone or with its machine.
    func endServingRelay() {
        guard let relay = relays?.serving, relay.isRunning else { return }
        counts.relay.servingKills += 1
        relay.kill()
        let pause: ClosedRange<Int64> =
            happens(0.8) ? 50_000_000...3_000_000_000 : 3_000_000_000...10_000_000_000
        later(pause) { [self] in try whenMachineAwake { [self] in startServingRelay() } }
    }

    // MARK: Servers

    private func killServer(_ server: Int) {
        guard let relays, relays.servers.replicas[server].isUp else { return }
        counts.relay.serverKills += 1
        note("n\(server) is killed")
        relays.servers.kill(server)
        for link in relays.links { link.lose(server) }
        later(500_000_000...(happens(0.8) ? 3_000_000_000 : 12_000_000_000)) { [self] in
            note("n\(server) runs")
            relays.servers.start(server)
        }
    }

    private func part(_ server: Int) {
        guard let relays, !relays.servers.replicas[server].isApart else { return }
        counts.relay.serversApart += 1
        note("n\(server) reaches no other server")
        relays.servers.part(server)
        later(500_000_000...15_000_000_000) { [self] in
            note("n\(server) reaches the others")
            relays.servers.rejoin(server)
        }
    }

    // MARK: Paths

    private func cut(_ link: ServersLink, of name: String) {
        guard !link.isCut else { return }
        counts.relay.outages += 1
        note("\(name) reaches no server")
        link.cut()
        later(200_000_000...(happens(0.7) ? 6_000_000_000 : 30_000_000_000)) { [self] in
            note("\(name) reaches the servers")
            link.restore()
        }
    }

    private func dropServed() {
        counts.drops += 1
        let end = now + Int64(number(1_000_000...800_000_000))
        connections[.recorder]?[0].dropsUntil = end
        note("the centre's relay drops until \(Double(end) / 1e9) s")
    }

    private func cutServed() {
        guard connections[.recorder]?[0].isCut == false else { return }
        counts.cuts += 1
        connections[.recorder]?[0].isCut = true
        note("the centre's relay is disconnected from the recorder")
        later(50_000_000...5_000_000_000) { [self] in
            connections[.recorder]?[0].isCut = false
            note("the centre's relay is connected to the recorder")
            connections[.recorder]?[0].standsFrom = now + Int64(number(10_000_000...300_000_000))
        }
    }

    func endRelayFaults() throws {
        guard let relays else { return }
        relays.isOver = true
        relays.servers.isFull = false
        for server in relays.servers.replicas.indices {
            relays.servers.start(server)
            relays.servers.rejoin(server)
        }
        for link in relays.links where link.isCut { link.restore() }
    }
}
