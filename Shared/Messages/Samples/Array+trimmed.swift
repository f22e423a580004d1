extension Array {
    /// The same elements without spare capacity, if that is more than 1/8 of them and 8: a grown array may have twice what it
    /// needs.
    package var trimmed: Self {
        if capacity - count <= count / 8 + 8 { return self }
        return Self(unsafeUninitializedCapacity: count) { room, written in
            written = room.initialize(fromContentsOf: self)
        }
    }
}
