extension Simulation {
    /// How often something was checked, by program.
    struct Checks: Equatable {
        var logManager = 0
        var configurations = 0
        var archiver = 0
        var stepCounter = 0
    }

    /// What was done to relays and servers, and what they did.
    struct RelayCounts: Equatable {
        var sendingKills = 0
        var servingKills = 0
        var serverKills = 0
        var serversApart = 0
        var outages = 0
        var lostDisks = 0
        var leaderChanges = 0
        /// Messages that were stored, dropped with their leader, called repeats, and given out again.
        var messages = 0
        var dropped = 0
        var repeats = 0
        var redelivered = 0
        /// Answers of replicas that lacked something.
        var staleAnswers = 0
    }

    /// What was done and checked.
    struct Counts: Equatable {
        var kills = 0
        var killsInRecovery = 0
        /// In a call of the disk, those in a recovery included.
        var callKills = 0
        var powerCuts = 0
        var publisherKills = 0
        var sessions = 0
        /// Of them those that began in the past.
        var pasts = 0
        var cuts = 0
        var failures = 0
        var drops = 0
        var replays = 0
        var checkpoints = 0
        var samples = 0
        var lost = 0
        var published = 0
        /// What was judged: sessions, the logs of streams, and places that were durable before.
        var judged = 0
        var logs = 0
        var durable = 0
        /// Lengths of files that were compared after a recovery.
        var lengths = 0
        /// Requests that were answered as durable.
        var acknowledged = 0
        var partitions = 0
        var slowReaders = 0
        var sleeps = 0
        var jumps = 0
        /// A publisher and the recorder at a time.
        var doubleKills = 0
        // log-manager
        var logManagerKills = 0
        /// Requests of people, thresholds that were published, files that were marked and removed.
        var requests = 0
        var crossings = 0
        var marked = 0
        var removed = 0
        // step-counter
        var stepCounterKills = 0
        var commits = 0
        var steps = 0
        var stepGaps = 0
        /// Devices of which every step was counted.
        var wholeWalks = 0
        // archiver
        var archiverKills = 0
        var archives = 0
        /// Tries of uploads.
        var uploads = 0
        var checks = Checks()
        var relay = RelayCounts()
        /// Nanoseconds for which the oldest bytes waited to be durable.
        var oldestUncommitted: Int64 = 0
    }
}
