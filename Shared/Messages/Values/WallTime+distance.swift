extension WallTime {
    /// The moment `nanoseconds` later, clamped to the range of `WallTime`.
    package func adding(_ nanoseconds: Int64) -> WallTime {
        WallTime(nanosecondsSince1970: nanosecondsSince1970.addingClamped(nanoseconds))
    }

    /// The moment `nanoseconds` earlier, clamped to the range of `WallTime`.
    package func subtracting(_ nanoseconds: Int64) -> WallTime {
        WallTime(nanosecondsSince1970: nanosecondsSince1970.subtractingClamped(nanoseconds))
    }

    /// Nanoseconds since another moment, clamped to the range of `Int64`.
    package func distance(from other: WallTime) -> Int64 {
        nanosecondsSince1970.subtractingClamped(other.nanosecondsSince1970)
    }
}
