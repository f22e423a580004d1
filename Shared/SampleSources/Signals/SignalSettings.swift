/// The key=value settings of one term of a `SignalSpecification`, taken one by one; any left at the end are unknown.
struct SignalSettings {
    private var values: [String: String] = [:]
    private var known: [String] = []

    init(_ text: Substring) throws(PublisherError) {
        for setting in text.split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else {
                throw PublisherError(.invalidParameter, "\"\(setting)\" is not of the form key=value")
            }
            guard values.updateValue(String(parts[1]), forKey: String(parts[0])) == nil else {
                throw PublisherError(.invalidParameter, "\(parts[0]) is given twice")
            }
        }
    }

    mutating func number(_ key: String, _ fallback: Double) throws(PublisherError) -> Double {
        guard let text = take(key) else { return fallback }
        guard let number = Double(text), number.isFinite else {
            throw PublisherError(.invalidParameter, "\(key): \"\(text)\" is not a number")
        }
        return number
    }

    mutating func seed() throws(PublisherError) -> UInt64 {
        guard let text = take("seed") else { return 1 }
        guard let seed = UInt64(text) else {
            throw PublisherError(.invalidParameter, "seed: \"\(text)\" is not a whole number from 0 to \(UInt64.max)")
        }
        return seed
    }

    mutating func axes() throws(PublisherError) -> Axes {
        guard let text = take("axes") else { return .all }
        guard let axes = Axes(letters: text) else {
            throw PublisherError(.invalidParameter, "axes: \"\(text)\" is not made of x, y and z")
        }
        return axes
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String, _ fallback: Choice)
        throws(PublisherError) -> Choice
    {
        guard let text = take(key) else { return fallback }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw PublisherError(.invalidParameter, "\(key): \"\(text)\" is not one of \(choices)")
        }
        return choice
    }

    func refuseTheRest() throws(PublisherError) {
        guard let key = values.keys.min() else { return }
        throw PublisherError(
            .invalidParameter, "there is no key \"\(key)\"; the keys are \(known.joined(separator: ", "))")
    }

    private mutating func take(_ key: String) -> String? {
        known.append(key)
        return values.removeValue(forKey: key)
    }
}
