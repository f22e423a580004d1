/// Turns a source that has at least some of its fields into a device motion stream (see `DeviceMotionLayout`).
package struct DeviceMotionSource: SampleSource {
    private var base: any SampleSource
    private let layout: DeviceMotionLayout

    package init(_ base: any SampleSource) throws(PublisherError) {
        self.base = base
        layout = try DeviceMotionLayout(fields: base.fields)
    }

    package var fields: [String] { layout.fields }
    package var unit: String? { base.unit }
    package var rate: Double? { base.rate }
    package var description: String { base.description }
    package var walk: WalkSignal? { base.walk }

    package mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64? {
        let start = row.count
        guard let time = try base.next(into: &row) else { return nil }
        layout.apply(to: &row, from: start)
        return time
    }

    package mutating func rewind() throws(PublisherError) {
        try base.rewind()
    }
}
