package import Messages
package import Recording
package import ServiceKit

extension Sending {
    /// Work for the caller. A method named after the colon takes the result.
    package enum Effect: CoreEffect, Sendable {
        // The spool

        /// Append a block durably: `stored`.
        case store(LogBlock)
        /// Read events: `loaded`.
        case load(from: Int, upTo: Int, limit: Int)
        /// Delete the part of the spool before a position.
        case trim(before: Int, current: Int)

        // Publishers

        case subscribe(String)
        /// Request a stream's missing samples until none are missing: `missing`, `take`, `giveUp`.
        case recover(StreamName)

        // Servers

        /// Create the stream if it is missing, and inspect it: `prepared`.
        case prepare
        /// Get the last message of a stream from its leader, and its last description if requested: `answered`.
        case ask(StreamName, description: Bool)
        /// Publish messages: `handedOver`, and `acknowledged` for each that was sent.
        case publish([Message])

        indirect case notice(Notice)
    }

    /// A message to publish.
    package struct Message: Hashable, Sendable {
        /// Identical whenever the same bytes are sent.
        package let identifier: String
        package let content: RelayedMessage
    }

    /// The servers' content for a stream.
    package struct Stored: Hashable, Sendable {
        /// The last stored batch; nil if there is none.
        package var last: BatchPlace?
        /// When the last stored description was published at the site; nil if there is none, or if it was not requested.
        package var describedAt: WallTime?

        package init(last: BatchPlace?, describedAt: WallTime? = nil) {
            self.last = last
            self.describedAt = describedAt
        }
    }

    /// The result of publishing a message.
    package enum Outcome: Hashable, Sendable {
        case stored(isRepeat: Bool)
        /// The message may be stored.
        case unknown(String)
        case notStored(String)
        case full(String)
        /// The message exceeds the servers' limit and is not stored.
        case tooLarge(String)
    }

    /// Properties of the servers, as found by `prepare`.
    package struct Servers: Hashable, Sendable {
        package var version: String
        /// Whether the leading server may forget what it acknowledged, as servers before 2.10 did.
        package var isOld: Bool
        /// Whether an acknowledgement can mean that a majority has the message on disk.
        package var canSync: Bool
        package var replicas: Int
        /// How long servers detect duplicates, in nanoseconds.
        package var duplicateWindow: Int64
        /// When the stream was created, in nanoseconds since 1970. A recreated stream has a different time.
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
        /// The maximum size of the spool, in bytes.
        package var spoolLimit: Int
        /// The maximum memory for samples that wait for missing samples before them, in bytes.
        package var holdLimit: Int
        /// The interval between commits to the spool, and therefore between bursts of messages, in nanoseconds.
        package var interval: Int64
        package var maximumStreams: Int
        /// The size of a spool segment, the unit of deletion, in bytes.
        package var segmentLength = 16 << 20
        /// The memory limit for events that were read from the spool, or are on their way there, and are not acknowledged, in
        /// bytes.
        package var windowBytes = 32 << 20
        /// The memory limit for events that wait to be written into the spool, in bytes.
        package var backlogBytes = 32 << 20
        /// The maximum amount read from the spool at once, in bytes.
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

    /// The content of the spool when the program started.
    package struct Spool: Sendable {
        /// The log's identifier.
        package var log: String
        /// The position of the first event that may not be acknowledged.
        package var start: Int
        /// `end` is where writing may continue; everything before `synced` is durable.
        package var end: Int
        package var synced: Int
        /// Positions between them without data, in order: failed writes used them up.
        package var holes: [Range<Int>] = []
        /// Each stream's last batch in the spool, and its epochs there in order.
        package var streams: [StreamName: (last: BatchPlace, epochs: [String])] = [:]

        package init(log: String, start: Int, end: Int, synced: Int) {
            self.log = log
            self.start = start
            self.end = end
            self.synced = synced
        }

        /// Notes a batch that is in the spool.
        package mutating func note(_ place: BatchPlace, of name: StreamName) {
            var known = streams[name] ?? (place, [])
            known.last = place
            if known.epochs.last != place.epoch { known.epochs.append(place.epoch) }
            streams[name] = known
        }
    }
}
