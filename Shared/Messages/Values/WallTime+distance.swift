extension WallTime {
    /// The moment so many nanoseconds later, as far as it can be held.
    package func adding(_ nanoseconds: Int64) -> WallTime {
        WallTime(nanosecondsSince1970: nanosecondsSince1970.addingClamped(nanoseconds))
    }

    /// Nanoseconds since another moment, as far as they can be held.
    package func distance(from other: WallTime) -> Int64 {
        nanosecondsSince1970.subtractingClamped(other.nanosecondsSince1970)
    }
}
