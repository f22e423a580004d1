import SystemPackage

/// Settings of the preloaded library: see Tests/FaultLayer.
struct FaultLayer: Sendable {
    /// A kind of system call that changes files.
    enum Call: String, CaseIterable, Sendable {
        case create, write, truncate, allocate, sync, syncall, rename, link, unlink, mkdir
    }

    /// The effect of a fault on a call.
    enum Action: Hashable, Sendable {
        /// The call fails with this errno.
        case fail(Errno)
        /// Only half of a write is done.
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

    /// The n-th call of a kind, counted from 1, and the effect on it.
    struct Fault: Hashable, Sendable, CustomStringConvertible {
        let call: Call
        let number: Int
        let action: Action
        /// The number of affected calls, from that one on.
        var count = 1

        var description: String { "\(call.rawValue):\(number):\(action.text):\(count)" }
    }

    /// The library's path.
    let library: FilePath
    /// Only calls on files in this directory are considered.
    let root: FilePath
    /// The file to which each call is recorded.
    var trace: FilePath?
    var fault: Fault?
    /// Only calls on paths with this prefix are counted for the fault.
    var prefix: FilePath?
    /// Nothing fails while this file exists.
    var heal: FilePath?
    /// If set, syncs take this long and do nothing.
    var syncMicroseconds: Int?
    /// The disk's bytes per second: usually, and while the file `heal` exists.
    var rates: (slow: Int, fast: Int)?

    /// The program's additional environment.
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
