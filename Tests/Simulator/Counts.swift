extension Simulation {
    /// The number of checks, by program.
    struct Checks: Equatable {
        var logManager = 0
        var configurations = 0
        var archiver = 0
        var stepCounter = 0
    }

    /// The faults injected into relays and servers, and their effects.
    struct RelayCounts: Equatable {
        var sendingKills = 0
        var servingKills = 0
        var serverKills = 0
        var serversApart = 0
        var outages = 0
        var lostDisks = 0
        var leaderChanges = 0
        /// Messages that were stored, dropped with their leader, reported as repeats, and delivered again.
        var messages = 0
        var dropped = 0
        var repeats = 0
        var redelivered = 0
        /// Answers of replicas that lacked messages.
        var staleAnswers = 0
    }

    /// The injected faults and the checks.
    struct Counts: Equatable {
        var kills = 0
        var killsInRecovery = 0
        /// Kills in a call of the disk, including those in a recovery.
        var callKills = 0
        var powerCuts = 0
        var publisherKills = 0
        var sessions = 0
        /// Sessions that began in the past.
        var pasts = 0
        var cuts = 0
        var failures = 0
        var drops = 0
        var replays = 0
        var checkpoints = 0
        var samples = 0
        var lost = 0
        var published = 0
        /// Judged sessions, stream logs, and places that had been durable before.
        var judged = 0
        var logs = 0
        var durable = 0
        /// File lengths compared after a recovery.
        var lengths = 0
        /// Requests whose answer promised durability.
        var acknowledged = 0
        var partitions = 0
        var slowReaders = 0
        var sleeps = 0
        var jumps = 0
        /// Simultaneous kills of a publisher and the recorder.
        var doubleKills = 0
        // log-manager
        var logManagerKills = 0
        /// Requests of users, published thresholds, files that were marked and removed.
        var requests = 0
        var crossings = 0
        var marked = 0
        var removed = 0
        // step-counter
        var stepCounterKills = 0
        var commits = 0
        var steps = 0
        var stepGaps = 0
        /// Devices whose every step was counted.
        var wholeWalks = 0
        // archiver
        var archiverKills = 0
        var archives = 0
        /// Attempted uploads.
        var uploads = 0
        var checks = Checks()
        var relay = RelayCounts()
        /// The longest wait, in nanoseconds, of bytes for durability.
        var oldestUncommitted: Int64 = 0
    }
}

extension Simulation.RelayCounts {
    mutating func add(_ other: Self) {
        sendingKills += other.sendingKills
        servingKills += other.servingKills
        serverKills += other.serverKills
        serversApart += other.serversApart
        outages += other.outages
        lostDisks += other.lostDisks
        leaderChanges += other.leaderChanges
        messages += other.messages
        dropped += other.dropped
        repeats += other.repeats
        redelivered += other.redelivered
        staleAnswers += other.staleAnswers
    }
}

extension Simulation.Counts {
    mutating func add(_ other: Self) {
        kills += other.kills
        killsInRecovery += other.killsInRecovery
        callKills += other.callKills
        powerCuts += other.powerCuts
        publisherKills += other.publisherKills
        cuts += other.cuts
        drops += other.drops
        replays += other.replays
        checkpoints += other.checkpoints
        samples += other.samples
        lost += other.lost
        published += other.published
        sessions += other.sessions
        pasts += other.pasts
        failures += other.failures
        judged += other.judged
        logs += other.logs
        durable += other.durable
        lengths += other.lengths
        logManagerKills += other.logManagerKills
        requests += other.requests
        crossings += other.crossings
        marked += other.marked
        removed += other.removed
        stepCounterKills += other.stepCounterKills
        commits += other.commits
        steps += other.steps
        stepGaps += other.stepGaps
        wholeWalks += other.wholeWalks
        checks.stepCounter += other.checks.stepCounter
        acknowledged += other.acknowledged
        partitions += other.partitions
        slowReaders += other.slowReaders
        sleeps += other.sleeps
        jumps += other.jumps
        doubleKills += other.doubleKills
        archiverKills += other.archiverKills
        archives += other.archives
        uploads += other.uploads
        relay.add(other.relay)
        checks.archiver += other.checks.archiver
        checks.logManager += other.checks.logManager
        checks.configurations += other.checks.configurations
        oldestUncommitted = max(oldestUncommitted, other.oldestUncommitted)
    }
}

extension Simulation.Counts {
    typealias Named = (name: String, count: KeyPath<Simulation.Counts, Int>)

    /// The faults and checks of many runs, whatever their options. If the count of one is 0, it is no longer injected, or no
    /// longer made.
    static var expected: [Named] {
        [
            ("kills of the recorder", \.kills), ("kills in a recovery", \.killsInRecovery), ("power cuts", \.powerCuts),
            ("kills of publishers", \.publisherKills), ("kills of recorder and publisher", \.doubleKills),
            ("cut connections", \.cuts), ("dropped messages", \.drops), ("replays", \.replays),
            ("checkpoints", \.checkpoints), ("lost samples", \.lost), ("answered requests", \.acknowledged),
            ("judged sessions", \.judged), ("judged stream files", \.logs), ("durable places", \.durable),
            ("lengths of files", \.lengths), ("kills of log-manager", \.logManagerKills),
            ("requests to log-manager", \.requests), ("thresholds crossed", \.crossings), ("marked files", \.marked),
            ("removed files", \.removed), ("configurations of logs", \.checks.configurations),
            ("kills of archiver", \.archiverKills), ("archives", \.archives), ("uploads", \.uploads),
            ("kills of step-counter", \.stepCounterKills), ("commits of steps", \.commits), ("steps", \.steps),
            ("devices whose every step was counted", \.wholeWalks),
        ]
    }

    /// The lines of a table, in Markdown.
    var rows: String {
        """
        | sessions begun, in the past, judged at their end | \(sessions), \(pasts), \(judged) |
        | recorder: ends, of them in a call, in a recovery | \(kills), \(callKills), \(killsInRecovery) |
        | power cuts | \(powerCuts) |
        | disk: calls that fail, one or several in turn | \(failures) |
        | publishers killed | \(publisherKills) |
        | connections cut, dropping messages | \(cuts), \(drops) |
        | partitions, slow readers | \(partitions), \(slowReaders) |
        | machines asleep, clocks that jump | \(sleeps), \(jumps) |
        | recorder and publisher killed together | \(doubleKills) |
        | steps and pauses answered | \(acknowledged) |
        | replays asked for, checkpoints | \(replays), \(checkpoints) |
        | samples published, recorded and checked, lost with reason | \(published), \(samples), \(lost) |
        | streams' logs judged, places found that were durable before, lengths of files | \(logs), \(durable), \(lengths) |
        | longest time from a sample's arrival until it was durable | \(oldestUncommitted / 1_000_000) ms |
        | log-manager killed, requests of people | \(logManagerKills), \(requests) |
        | files marked, removed; thresholds crossed | \(marked), \(removed); \(crossings) |
        | archiver killed, archives made, uploads tried | \(archiverKills), \(archives), \(uploads) |
        | step-counter killed, commits, gaps | \(stepCounterKills), \(commits), \(stepGaps) |
        | steps counted, devices of which every step was counted | \(steps), \(wholeWalks) |
        | relays killed: sites', the centre's; servers killed, apart | \(relay.sendingKills), \(relay.servingKills); \(relay.serverKills), \(relay.serversApart) |
        | sites and centres without servers, disks lost, leaders changed | \(relay.outages), \(relay.lostDisks), \(relay.leaderChanges) |
        | messages stored, dropped with their leader, called repeats, given out again | \(relay.messages), \(relay.dropped), \(relay.repeats), \(relay.redelivered) |
        | answers of replicas that lacked something | \(relay.staleAnswers) |
        | checked: step-counter, archiver, log-manager, configurations of logs | \(checks.stepCounter), \(checks.archiver), \(checks.logManager), \(checks.configurations) |
        """
    }
}
