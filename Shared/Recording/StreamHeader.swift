/// What a log's file says of its stream, so that it can be understood without any other.
package struct StreamHeader: Hashable, Sendable {
    package var device: String
    /// The unit of the columns after `uptime`, where it is one and known.
    package var unit: String?
    /// Samples per second as the publisher names it, where there is a rate.
    package var rate: Double?

    package init(device: String, unit: String? = nil, rate: Double? = nil) {
        self.device = device
        self.unit = unit
        self.rate = rate
    }
}
