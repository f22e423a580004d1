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
