extension Health {
    /// Reports under the key `clock` that somebody's clock is wrong.
    /// - Parameters:
    ///   - owner: whose it is: a device, an endpoint.
    ///   - seconds: how far it is ahead of this machine's; negative if it is behind.
    ///   - consequence: the rest of the sentence: what comes of it, and what to do.
    package func reportClock(of owner: String, ahead seconds: Double, _ consequence: String) {
        let direction = seconds > 0 ? "ahead of" : "behind"
        report(
            .degraded,
            "the clock of \(owner) is \(Int(abs(seconds).rounded())) s \(direction) this machine's\(consequence)",
            for: "clock")
    }
}
