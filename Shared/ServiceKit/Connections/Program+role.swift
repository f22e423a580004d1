package import Messages

extension Program {
    /// What the program needs to be allowed at the others.
    package var role: Role {
        switch self {
        // One marks and removes files at log-manager, the other does what people ask for on its page.
        case .archiver, .console: .delete
        // They listen, ask for missing samples and for what log-manager knows.
        case .sensorPublisher, .recorder, .stepCounter, .logManager, .relay: .listen
        }
    }
}
