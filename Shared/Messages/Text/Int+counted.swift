extension Int {
    /// The number with its noun, for people: `1 file`, `2 files`.
    /// - Parameter noun: a noun whose plural adds "s".
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
