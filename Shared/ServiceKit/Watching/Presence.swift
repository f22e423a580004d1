import MessageBus
import Messages

/// Knows which of the programs that are listened to are there, and says of the others what a person should know.
///
/// A pure value. Instants are nanoseconds of one monotonic clock.
struct Presence: Sendable {
    /// What happened to an address.
    enum Change: Hashable, Sendable {
        case arrived(String)
        case left(String)
    }

    /// How long a program may take to answer for the first time.
    static let grace: Int64 = 3_000_000_000
    /// How many addresses a sentence names.
    private static let maximumNamed = 5

    private struct Place {
        let added: Int64
        var isConnected = false
        var leftAt: WallTime?
    }

    private let program: Program
    private let startedAt: Int64
    private var places: [String: Place] = [:]

    /// - Parameters:
    ///   - program: which program is listened to.
    ///   - now: when that began.
    init(of program: Program, at now: Int64) {
        self.program = program
        startedAt = now
    }

    /// How many addresses there are to be connected to, and at how many somebody answers.
    var counts: (known: Int, connected: Int) { (places.count, places.values.count(where: \.isConnected)) }

    /// Notes which addresses there are, and where somebody answers now.
    mutating func note(
        _ addresses: Set<String>, connected: Set<String>, at now: Int64, date: WallTime
    ) -> [Change] {
        // What is inside the process is always there, and nobody tells of it.
        let watched = addresses.filter { !$0.hasPrefix("inproc:") }
        var changes: [Change] = []
        for address in watched.sorted() {
            var place = places[address] ?? Place(added: now)
            let isConnected = connected.contains(address)
            if isConnected, !place.isConnected { changes.append(.arrived(address)) }
            if !isConnected, place.isConnected {
                changes.append(.left(address))
                place.leftAt = date
            }
            place.isConnected = isConnected
            places[address] = place
        }
        places = places.filter { watched.contains($0.key) }
        return changes
    }

    /// What is wrong with an endpoint: nil if all that it leads to is there.
    func complaint(about route: ConnectionPlan.Route, at now: Int64) -> String? {
        var whose = ""
        if case .host(let name, _) = route.target {
            guard !route.addresses.isEmpty else {
                guard let failure = route.failure else {
                    guard now - startedAt >= Self.grace else { return nil }
                    return "\(program) at \(route.endpoint) is not found yet: the look-up of \(name) takes long"
                }
                return "\(program) at \(route.endpoint) is not found, and is looked for again: \(name): \(failure)"
            }
            whose = " (\(name))"
        }
        let away = route.addresses.sorted().compactMap { address -> String? in
            guard let place = places[address], !place.isConnected else { return nil }
            if let leftAt = place.leftAt { return "at \(address)\(whose) has been away since \(leftAt.utcText)" }
            guard now - place.added >= Self.grace else { return nil }
            return "at \(address)\(whose) does not answer: start it, or give its address with --subscribe"
        }
        if away.isEmpty { return nil }
        let others = away.count > Self.maximumNamed ? "; and \(away.count - Self.maximumNamed) more" : ""
        return "\(program) " + away.prefix(Self.maximumNamed).joined(separator: "; ") + others
    }
}
