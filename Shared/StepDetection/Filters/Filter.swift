/// Four second-order filters, one in each lane: for four signals, or for one signal with four designs.
///
/// Transposed direct form II: two numbers of memory, and accurate enough in single precision.
struct Filter: Hashable, Sendable {
    private let b0, b1, b2, a1, a2: SIMD4<Float>
    private var memory1 = SIMD4<Float>()
    private var memory2 = SIMD4<Float>()

    /// One design for each lane.
    init(_ x: Butterworth, _ y: Butterworth, _ z: Butterworth, _ w: Butterworth) {
        b0 = SIMD4(x.b0, y.b0, z.b0, w.b0)
        b1 = SIMD4(x.b1, y.b1, z.b1, w.b1)
        b2 = SIMD4(x.b2, y.b2, z.b2, w.b2)
        a1 = SIMD4(x.a1, y.a1, z.a1, w.a1)
        a2 = SIMD4(x.a2, y.a2, z.a2, w.a2)
    }

    /// The same design for all lanes.
    init(_ design: Butterworth) {
        self.init(design, design, design, design)
    }

    /// Forgets the past, as if the input had always been `value`.
    mutating func settle(at value: SIMD4<Float>) {
        let output = value * (b0 + b1 + b2) / (1 + a1 + a2)
        memory2 = b2 * value - a2 * output
        memory1 = b1 * value - a1 * output + memory2
    }

    @inline(__always)
    mutating func callAsFunction(_ input: SIMD4<Float>) -> SIMD4<Float> {
        let output = b0 * input + memory1
        memory1 = b1 * input - a1 * output + memory2
        memory2 = b2 * input - a2 * output
        return output
    }

    mutating func read(from state: inout DetectorStateReader) {
        memory1 = state.next()
        memory2 = state.next()
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(memory1)
        state.append(memory2)
    }
}
