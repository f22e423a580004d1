import SystemPackage

/// What the preloaded library is to do to a program: see Tests/FaultLayer.
struct FaultLayer: Sendable {
    /// A kind of system call that changes files.
    enum Call: String, CaseIterable, Sendable {
        case create, write, truncate, allocate, sync, syncall, rename, link, unlink, mkdir
    }

    /// What becomes of a call.
    enum Action: Hashable, Sendable {
        /// It fails with this errno.
        case fail(Errno)
        /// Half of a write is done.
        case short
        /// SIGKILL in place of the call, right after it, or when a write is half done.
        case killBefore, killAfter, killTorn

        fileprivate var text: String {
            switch self {
            case .fail(let errno): "\(errno.rawValue)"
            case .short: "short"
            case .killBefore: "kill-before"
            case .killAfter: "kill-after"
            case .killTorn: "kill-torn"
            }
        }
    }

    /// The n-th call of a kind, counted from 1, and what becomes of it.
    struct Fault: Hashable, Sendable, CustomStringConvertible {
        let call: Call
        let number: Int
        let action: Action
        /// How many calls from that one on.
        var count = 1

        var description: String { "\(call.rawValue):\(number):\(action.text):\(count)" }
    }

    /// The built library.
    let library: FilePath
    /// Calls on files in this directory are looked at.
    let root: FilePath
    /// Where each call is written down.
    var trace: FilePath?
    var fault: Fault?
    /// Only calls on paths that start so are counted for the fault.
    var prefix: FilePath?
    /// Nothing fails while this file is there.
    var heal: FilePath?
    /// Syncs take this long and do nothing.
    var syncMicroseconds: Int?
    /// Bytes that the disk takes a second, and while the file `heal` is there.
    var rates: (slow: Int, fast: Int)?

    /// What the program is to have in its environment.
    var environment: [String: String] {
        var environment = ["LD_PRELOAD": library.string, "FAULT_LAYER_ROOT": root.string]
        environment["FAULT_LAYER_TRACE"] = trace?.string
        environment["FAULT_LAYER_FAULT"] = fault?.description
        environment["FAULT_LAYER_PREFIX"] = prefix?.string
        environment["FAULT_LAYER_HEAL"] = heal?.string
        environment["FAULT_LAYER_SYNC"] = syncMicroseconds.map { "\($0)" }
        environment["FAULT_LAYER_RATE"] = rates.map { "\($0.slow):\($0.fast)" }
        return environment
    }
}
