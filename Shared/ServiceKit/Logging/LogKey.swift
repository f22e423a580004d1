/// The keys of log metadata, in one place so that a search finds every line about a subject.
///
/// A program adds its own in an extension.
package enum LogKey {
    /// The error, as a sentence.
    package static let error = "error"
    /// The exit code that the program ends with.
    package static let exitCode = "exit.code"
    package static let version = "service.version"
    /// The endpoint at which a program publishes.
    package static let publish = "bus.publish"
    /// The endpoint at which a program answers.
    package static let reply = "bus.reply"
    package static let metrics = "metrics"
    /// Another program's endpoint.
    package static let peer = "bus.peer"
    /// A host's name.
    package static let name = "bus.name"
    /// The address that a client connected from.
    package static let client = "client.address"
    /// A client's public key.
    package static let clientKey = "client.key"
    /// A client's name on the allow-list.
    package static let clientName = "client.name"
    /// The number of similar events that were not logged since the last logged one.
    package static let unmentioned = "unmentioned"
    package static let signal = "signal"
}
