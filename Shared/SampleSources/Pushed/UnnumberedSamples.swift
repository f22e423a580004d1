import Messages

/// Samples without numbers, as SensaGram, HyperIMU and phyphox send them: only their times show losses and duplicates.
package struct UnnumberedSamples: Hashable, Sendable {
    /// The origin of the times.
    package enum Clock: Hashable, Sendable {
        /// 1970, by the device's clock.
        case date
        /// An arbitrary moment, such as the device's start.
        case device
        /// That of this machine's monotonic clock: the device sends no times, so a sample has the time of its arrival.
        case arrival

        /// What these times show of losses, for a stream's description.
        package var losses: String {
            self == .arrival
                ? "not numbered, without times: nothing tells what is lost"
                : "not numbered: what is lost is estimated"
        }
    }

    package struct Part: Hashable, Sendable {
        package let stream: String
        package let unit: String?
        package let description: String
        package let clock: Clock
        package var rows: PushedRows

        package init(stream: String, unit: String?, description: String, clock: Clock, rows: PushedRows) {
            self.stream = stream
            self.unit = unit
            self.description = description
            self.clock = clock
            self.rows = rows
        }
    }

    package let device: String
    package private(set) var parts: [Part]

    /// - Throws: `invalidParameter` for names that cannot be part of topics and file names.
    package init(device: String, parts: [Part]) throws(PublisherError) {
        for part in parts { _ = try StreamName(pushed: device, part.stream) }
        self.device = device
        self.parts = parts
    }

    /// The latest time on a clock, in nanoseconds, over all streams; 0 if there is none.
    package func newest(on clock: Clock) -> Int64 {
        parts.filter { $0.clock == clock }.compactMap { $0.rows.times.max() }.max() ?? 0
    }

    /// Adds the next samples of the same device.
    package mutating func add(_ other: UnnumberedSamples) {
        for part in other.parts {
            let known = parts.firstIndex {
                $0.stream == part.stream && $0.clock == part.clock && $0.rows.fields == part.rows.fields
            }
            if let known { parts[known].rows.append(contentsOf: part.rows) } else { parts.append(part) }
        }
    }
}
