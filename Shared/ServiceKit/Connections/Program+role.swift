package import Messages

extension Program {
    /// The role that the program needs at the other programs.
    package var role: Role {
        switch self {
        // archiver marks and removes files at log-manager, console does what people request on its page.
        case .archiver, .console: .delete
        // They only listen, and request missing samples and log-manager's configuration.
        case .sensorPublisher, .recorder, .stepCounter, .logManager, .relay: .listen
        }
    }
}
