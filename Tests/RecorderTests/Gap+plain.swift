import Messages

extension Gap {
    /// The gap without its times, which no test knows beforehand.
    var plain: Gap { Gap(epoch: epoch, from: from, count: count, reason: reason) }
}
