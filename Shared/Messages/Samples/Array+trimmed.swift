extension Array {
    /// The same elements without room for more, if there is much of it: an array that grew may have twice what it needs.
    package var trimmed: Self {
        if capacity - count <= count / 8 + 8 { return self }
        return Self(unsafeUninitializedCapacity: count) { room, written in
            written = room.initialize(fromContentsOf: self)
        }
    }
}
