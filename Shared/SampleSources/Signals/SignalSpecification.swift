/// The text form of signals: `sine:amplitude=2,angularFrequency=1,phase=0.2,offset=0.5+noise:seed=7,amplitude=0.02`.
///
/// Terms joined by "+" are added. A term is a kind, optionally followed by a colon and its settings as key=value, separated by
/// commas. A key that is not given has its default.
///
/// | kind | keys (default) |
/// | --- | --- |
/// | `constant` | `value` (0), `axes` (xyz) |
/// | `sine` | `amplitude` (1), `angularFrequency` (1 rad/s), `phase` (0 rad), `offset` (0), `axes` (xyz) |
/// | `noise` | `amplitude` (1), `distribution` (gaussian; uniform), `seed` (1), `axes` (xyz) |
/// | `walk` | `cadence` (1.8 steps/s), `asymmetry` (0.04), `placement` (waist; pocket, hand, wrist), `bout` (20 s), `pause` (0 s), `noise` (0.01 g), `seed` (1) |
package enum SignalSpecification {
    private enum Kind: String, CaseIterable {
        case constant, sine, noise, walk
    }

    /// Reads a specification.
    ///
    /// - Throws: `invalidParameter`, naming the term and listing the known kinds or keys.
    package static func signal(_ text: String) throws(PublisherError) -> Signal {
        var signals: [Signal] = []
        for term in terms(of: text) {
            do throws(PublisherError) {
                signals.append(try signal(term: term))
            } catch {
                throw error.at("signal \"\(term)\"")
            }
        }
        return signals.count == 1 ? signals[0] : .sum(signals)
    }

    /// The specification of a signal with all settings; `signal(_:)` reads it back to an equal signal.
    package static func text(of signal: Signal) -> String {
        switch signal {
        case .constant(let value, let axes): "constant:value=\(value)" + text(of: axes)
        case .sine(let sine, let axes):
            "sine:amplitude=\(sine.amplitude),angularFrequency=\(sine.angularFrequency),phase=\(sine.phase),"
                + "offset=\(sine.offset)" + text(of: axes)
        case .noise(let noise, let axes):
            "noise:amplitude=\(noise.amplitude),distribution=\(noise.distribution),seed=\(noise.seed)" + text(of: axes)
        case .walk(let walk):
            "walk:cadence=\(walk.cadence),asymmetry=\(walk.asymmetry),placement=\(walk.placement),bout=\(walk.bout),"
                + "pause=\(walk.pause),noise=\(walk.noise),seed=\(walk.seed)"
        case .sum(let terms): terms.map(text(of:)).joined(separator: "+")
        }
    }

    private static func text(of axes: Axes) -> String {
        axes == .all ? "" : ",axes=\(axes.letters)"
    }

    /// Splits at each "+" before a letter: the one in 1e+3 belongs to a number. Spaces are ignored.
    private static func terms(of text: String) -> [String] {
        let text = text.filter { !$0.isWhitespace }
        var terms = [""]
        for index in text.indices {
            let next = text.index(after: index)
            if text[index] == "+", next < text.endIndex, text[next].isLetter {
                terms.append("")
            } else {
                terms[terms.count - 1].append(text[index])
            }
        }
        return terms
    }

    private static func signal(term: String) throws(PublisherError) -> Signal {
        let parts = term.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let kind = Kind(rawValue: String(parts[0])) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw PublisherError(.invalidParameter, "there is no kind \"\(parts[0])\"; the kinds are \(known)")
        }
        var settings = try SignalSettings(parts.count > 1 ? parts[1] : "")
        let signal: Signal
        switch kind {
        case .constant:
            signal = .constant(try settings.number("value", 0), try settings.axes())
        case .sine:
            signal = .sine(
                Sine(
                    amplitude: try settings.number("amplitude", 1),
                    angularFrequency: try settings.number("angularFrequency", 1),
                    phase: try settings.number("phase", 0), offset: try settings.number("offset", 0)),
                try settings.axes())
        case .noise:
            signal = .noise(
                Noise(
                    seed: try settings.seed(), amplitude: try settings.number("amplitude", 1),
                    distribution: try settings.choice("distribution", .gaussian)),
                try settings.axes())
        case .walk:
            signal = .walk(
                try WalkSignal(
                    cadence: try settings.number("cadence", 1.8), asymmetry: try settings.number("asymmetry", 0.04),
                    placement: try settings.choice("placement", .waist), bout: try settings.number("bout", 20),
                    pause: try settings.number("pause", 0), noise: try settings.number("noise", 0.01),
                    seed: try settings.seed()))
        }
        try settings.refuseTheRest()
        return signal
    }
}
