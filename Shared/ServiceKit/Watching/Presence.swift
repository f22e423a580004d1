import MessageBus
import Messages

/// Tracks which of a subscriber's programs are connected, and describes the missing ones to people.
///
/// A pure value. Instants are nanoseconds of one monotonic clock.
struct Presence: Sendable {
    enum Change: Hashable, Sendable {
        case arrived(String)
        case left(String)
    }

    /// How long a program may take to connect for the first time.
    static let grace: Int64 = 3_000_000_000
    /// The maximum number of addresses in a sentence.
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
    ///   - program: the program that is subscribed to.
    ///   - now: when the subscription began.
    init(of program: Program, at now: Int64) {
        self.program = program
        startedAt = now
    }

    /// The number of addresses, and the number that is connected.
    var counts: (known: Int, connected: Int) { (places.count, places.values.count(where: \.isConnected)) }

    /// Updates the addresses, and which of them are connected.
    mutating func note(
        _ addresses: Set<String>, connected: Set<String>, at now: Int64, date: WallTime
    ) -> [Change] {
        // An in-process address is always connected, and has no connection events.
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

    /// The problems with an endpoint; nil if all its addresses are connected.
    func complaint(about route: ConnectionPlan.Route, at now: Int64) -> String? {
        var whose = ""
        if case .host(let name, _) = route.target {
            guard !route.addresses.isEmpty else {
                guard let failure = route.failure else {
                    guard now - startedAt >= Self.grace else { return nil }
                    return "\(program) at \(route.endpoint) is not found yet: the look-up of \(name) takes long"
                }
                return "\(program) at \(route.endpoint) is not found, and the look-up is repeated: \(name): \(failure)"
            }
            whose = " (\(name))"
        }
        let away = route.addresses.sorted().compactMap { address -> String? in
            guard let place = places[address], !place.isConnected else { return nil }
            if let leftAt = place.leftAt { return "at \(address)\(whose) has been away since \(leftAt.utcText)" }
            guard now - place.added >= Self.grace else { return nil }
            return "at \(address)\(whose) does not answer: start it, or give its address with --subscribe"
        }
        var problems: [String] = []
        if !away.isEmpty {
            let others = away.count > Self.maximumNamed ? "; and \(away.count - Self.maximumNamed) more" : ""
            problems.append("\(program) " + away.prefix(Self.maximumNamed).joined(separator: "; ") + others)
        }
        // An address that is left out of one name may be connected for another endpoint.
        let leftOut = route.leftOut.count { places[$0] == nil }
        if leftOut > 0 {
            problems.append(
                "\(program) at \(leftOut) more addresses\(whose) is not connected, because a name may have at most "
                    + "\(ConnectionPlan.maximumAddresses): divide them among several names, "
                    + "and give each with --subscribe")
        }
        return problems.isEmpty ? nil : problems.joined(separator: "; ")
    }
}
