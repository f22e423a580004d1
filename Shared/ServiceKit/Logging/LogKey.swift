/// The keys of log metadata, in one place so that a search finds every line about a thing.
///
/// A program adds its own in an extension.
package enum LogKey {
    /// The error, as a sentence.
    package static let error = "error"
    /// The exit code that the program ends with.
    package static let exitCode = "exit.code"
    /// A program's version.
    package static let version = "service.version"
    /// Where a program publishes.
    package static let publish = "bus.publish"
    /// Where a program answers.
    package static let reply = "bus.reply"
    /// Where metrics are read.
    package static let metrics = "metrics"
    /// Another program's endpoint.
    package static let peer = "bus.peer"
    /// A host's name.
    package static let name = "bus.name"
    /// The address that a client came from.
    package static let client = "client.address"
    /// A client's public key.
    package static let clientKey = "client.key"
    /// What the list calls a client.
    package static let clientName = "client.name"
    /// How many events of the same sort were not logged since the last that was.
    package static let unmentioned = "unmentioned"
    /// A signal's number.
    package static let signal = "signal"
}
