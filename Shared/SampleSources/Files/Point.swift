/// One item of an array of points: the values of all fields at one time.
package struct Point: Hashable, Sendable {
    /// Seconds since the stream's start.
    package let timestamp: Double
    /// One value for each field, in the fields' order.
    package let values: [Double]

    package init(timestamp: Double, values: [Double]) {
        self.timestamp = timestamp
        self.values = values
    }

    package init(timestamp: Double, value: Double) {
        self.init(timestamp: timestamp, values: [value])
    }
}
