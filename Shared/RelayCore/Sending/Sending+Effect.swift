package import Messages
package import Recording
package import ServiceKit

extension Sending {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // The spool

        /// Append a block, durably: `stored`.
        case store(LogBlock)
        /// Read events: `loaded`.
        case load(from: Int, upTo: Int, limit: Int)
        /// Delete what stands before a position.
        case trim(before: Int, current: Int)

        // Publishers

        case subscribe(String)
        /// Request a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(StreamName)

        // Servers

        /// Make the stream if it is missing, and inspect it: `prepared`.
        case prepare
        /// Get the last message of a stream from its leader, and its last description if that is wanted: `answered`.
        case ask(StreamName, description: Bool)
        /// Publish: `acknowledged` for each.
        case publish([Message])

        indirect case notice(Notice)
    }

    /// A message to publish.
    package struct Message: Hashable, Sendable {
        /// The same whenever the same bytes are sent.
        package let identifier: String
        package let content: RelayedMessage
    }

    /// What the servers have of a stream.
    package struct Stored: Hashable, Sendable {
        /// The last batch; nil if there is none.
        package var last: BatchPlace?
        /// When the last description was published at the site; nil if there is none, or if it was not asked for.
        package var describedAt: WallTime?

        package init(last: BatchPlace?, describedAt: WallTime? = nil) {
            self.last = last
            self.describedAt = describedAt
        }
    }

    /// What became of a message.
    package enum Outcome: Hashable, Sendable {
        case stored(isRepeat: Bool)
        /// It may be stored.
        case unknown(String)
        case notStored(String)
        case full(String)
    }

    /// How the servers were found.
    package struct Servers: Hashable, Sendable {
        package var version: String
        /// Whether an acknowledgement may be that of a server which forgets it: those before 2.10 did.
        package var isOld: Bool
        /// Whether disks of a majority can have what is acknowledged.
        package var canSync: Bool
        package var replicas: Int
        /// How long repeats are known, in nanoseconds.
        package var duplicateWindow: Int64
        /// When the stream was made, in nanoseconds since 1970: another time if it was deleted and made anew.
        package var made: Int64

        package init(
            version: String, isOld: Bool, canSync: Bool, replicas: Int, duplicateWindow: Int64, made: Int64
        ) {
            self.version = version
            self.isOld = isOld
            self.canSync = canSync
            self.replicas = replicas
            self.duplicateWindow = duplicateWindow
            self.made = made
        }
    }

    package struct Settings: Sendable {
        package var site: String
        package var servers: String
        package var publishers: String
        /// Bytes that may wait on the disk.
        package var spoolLimit: Int
        /// Bytes in memory that wait for samples before them.
        package var holdLimit: Int
        /// Nanoseconds between commits to the spool, and so between bursts.
        package var interval: Int64
        package var maximumStreams: Int
        /// What can be deleted of the spool at once, in bytes.
        package var segmentLength = 16 << 20
        /// Bytes in memory that were read from the spool or are on their way there, and were not acknowledged.
        package var windowBytes = 32 << 20
        /// Bytes that are read from the spool at once.
        package var loadBytes = 4 << 20

        package init(
            site: String, servers: String, publishers: String, spoolLimit: Int, holdLimit: Int, interval: Int64,
            maximumStreams: Int
        ) {
            self.site = site
            self.servers = servers
            self.publishers = publishers
            self.spoolLimit = spoolLimit
            self.holdLimit = holdLimit
            self.interval = interval
            self.maximumStreams = maximumStreams
        }
    }

    /// What was in the spool when the program started.
    package struct Spool: Sendable {
        /// The log's identifier.
        package var log: String
        /// Where the first event is that may not be acknowledged.
        package var start: Int
        /// Where it may be continued, and before which position everything is durable.
        package var end: Int
        package var synced: Int
        /// How far each stream is, and the epochs that it has there in their order.
        package var streams: [StreamName: (last: BatchPlace, epochs: [String])] = [:]

        package init(log: String, start: Int, end: Int, synced: Int) {
            self.log = log
            self.start = start
            self.end = end
            self.synced = synced
        }

        /// Notes a batch that stands in it.
        package mutating func note(_ place: BatchPlace, of name: StreamName) {
            var known = streams[name] ?? (place, [])
            known.last = place
            if known.epochs.last != place.epoch { known.epochs.append(place.epoch) }
            streams[name] = known
        }
    }
}
