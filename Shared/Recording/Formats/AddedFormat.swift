import Synchronization

/// A format that is not built in, by its index among the added ones.
package struct AddedFormat: Hashable, Sendable {
    private let index: UInt8

    /// The formatters in this build of the programs besides `LogFormat.allCases`. To add one permanently, write it here: then
    /// every program has it.
    private static let added = Mutex<[any LogFormatter]>([])
    private static let maximumCount = 200
    private static let numbers = 16...255

    private init(index: Int) { self.index = UInt8(index) }

    init?(name: String) {
        guard let index = Self.added.withLock({ $0.firstIndex { $0.name == name } }) else { return nil }
        self.init(index: index)
    }

    /// In the order of addition.
    static var all: [AddedFormat] { Self.added.withLock { $0.indices.map { AddedFormat(index: $0) } } }

    var formatter: any LogFormatter { Self.added.withLock { $0[Int(index)] } }

    static func add(_ formatter: some LogFormatter) {
        let name = formatter.name
        precondition(
            (1...8).contains(name.utf8.count)
                && name.utf8.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 &- UInt8(ascii: "0") < 10
                },
            "a format's name is 1 to 8 letters a to z or digits, not '\(name)'")
        precondition(numbers.contains(formatter.number), "a format's number is 16 to 255, not \(formatter.number)")
        precondition(
            !LogFormat.allCases.contains { $0.rawValue == name }, "the format \(name) is built in: choose another name")
        added.withLock { added in
            if added.contains(where: { $0.name == name }) { return }
            precondition(added.count < maximumCount, "no more than \(maximumCount) formats can be added")
            precondition(
                !added.contains { $0.number == formatter.number },
                "the number \(formatter.number) of the format \(name) is another one's: choose a free one")
            added.append(formatter)
        }
    }
}
