/// The unit and the nominal rate of a stream whose publisher was restarted with other ones.
extension SessionRecord.Log {
    /// A unit, and the epoch from which on samples have it.
    package struct UnitChange: Codable, Hashable, Sendable {
        package var epoch: String
        /// `nil` if the publisher stated none.
        package var unit: String?

        var text: String { unit ?? "no unit" }
    }

    package func epoch(_ name: String?) -> SessionRecord.Epoch? { epochs.last { $0.epoch == name } }

    package func unit(of epoch: SessionRecord.Epoch?) -> String? { epoch?.unit ?? unit }

    /// In samples per second.
    package func rate(of epoch: SessionRecord.Epoch?) -> Double? { epoch?.rate ?? rate }

    /// The log with the unit and the rate of an epoch.
    package func describing(_ epoch: SessionRecord.Epoch?) -> SessionRecord.Log {
        var log = self
        (log.unit, log.rate) = (unit(of: epoch), rate(of: epoch))
        return log
    }

    /// The unit at the beginning and each change of it; `nil` if it does not change.
    package var unitChanges: [UnitChange]? { units.count > 1 ? units : nil }

    private var units: [UnitChange] {
        var units: [UnitChange] = []
        for epoch in epochs {
            let own = unit(of: epoch)
            if let last = units.last, last.unit == own { continue }
            units.append(UnitChange(epoch: epoch.epoch, unit: own))
        }
        return units
    }

    /// The unit of all samples; `nil` if it changes.
    package var onlyUnit: String? { units.count > 1 ? nil : unit(of: epochs.first) }

    /// The rate of all epochs; `nil` if it changes.
    package var onlyRate: Double? {
        let first = rate(of: epochs.first)
        return epochs.allSatisfy { rate(of: $0) == first } ? first : nil
    }

    /// The units, for people: `m/s2, then g`.
    package var unitText: String? {
        unitChanges.map { $0.map(\.text).joined(separator: ", then ") } ?? onlyUnit
    }
}
