import MessageBus
import Messages
import Recording
import ServiceKit

/// Health reports about publishers, servers and the spool.
extension Sending {
    func watch(at now: Moment) {
        unblock(at: now)
        emit(.silence(now.monotonic - heard > StreamDescription.life, at: settings.publishers))
        emit(
            .warn(
                isRefusing
                    ? "\(settings.maximumStreams) streams are sent, and no more are accepted: raise --maximum-streams"
                    : nil,
                for: "streams"))
        emit(
            .warn(
                isFull
                    ? "the spool is full: \(ByteCount(bytes: spoolBytes).rounded) wait for the servers; publishers keep "
                        + "later samples for as long as their retention; raise --spool-limit to keep more here" : nil,
                for: "full-spool"))
        emit(
            .warn(
                isBehind
                    ? "the spool's disk is too slow: \(ByteCount(bytes: appender.count).rounded) wait in memory; "
                        + "publishers keep later samples for as long as their retention; check the disk" : nil,
                for: "slow-spool"))
        watchServers(at: now)
    }

    func watchServers(at now: Moment) {
        emit(.warn(sentence, for: "servers"))
        emit(.warn(servers.flatMap(Self.warning), for: "version"))
    }

    private var sentence: String? {
        let waiting = "\(ByteCount(bytes: spoolBytes).rounded) wait on the disk"
        if !isConnected {
            let reason = problem.map { " (\($0))" } ?? ""
            return "no NATS server is connected at \(settings.servers)\(reason): \(waiting)"
        }
        if fullSince != nil {
            return
                "the stream in NATS is full, and accepts nothing more: \(waiting); give it more room (nats stream edit "
                + "--max-bytes), or remove what is no longer needed"
        }
        return problem.map { "NATS does not store what is sent (\($0)): \(waiting)" }
    }

    private static func warning(of servers: Servers) -> String? {
        if servers.isOld {
            return
                "the NATS server is \(servers.version): a replica that was frozen may lose messages that were acknowledged; "
                + "use 2.15 or later with sync_interval: always"
        }
        if servers.replicas < 3 {
            return "the stream has \(servers.replicas == 1 ? "one replica" : "\(servers.replicas) replicas"): "
                + "acknowledged samples are lost if their server is; use three servers, and --replicas 3"
        }
        if !servers.canSync {
            return
                "the NATS server is \(servers.version): what it acknowledges is in the memory of a majority of servers, and "
                + "not on their disks; use 2.15 or later with sync_interval: always"
        }
        return nil
    }
}
