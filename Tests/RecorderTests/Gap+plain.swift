import Messages

extension Gap {
    var plain: Gap { Gap(epoch: epoch, from: from, count: count, reason: reason) }
}
