extension Int {
    /// This many of something, as people read it: `1 file`, `2 files`.
    /// - Parameter noun: one whose plural ends in "s".
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
