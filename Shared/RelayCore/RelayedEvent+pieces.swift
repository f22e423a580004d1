import Messages

/// Splits batches that exceed the maximum message size.
extension RelayedEvent {
    /// Splits the event into smaller ones of at most `limit` bytes or one row each. The values stay as they were written.
    ///
    /// The cuts are deterministic, so an event that is sent again after a restart has the same identifiers.
    /// - Returns: the event alone if it is small enough or cannot be cut.
    func pieces(of limit: Int) -> [RelayedEvent] {
        guard let place, place.count > 1, body.count + (packed?.count ?? 0) > limit else { return [self] }
        return (try? cut(limit)) ?? [self]
    }

    private func cut(_ limit: Int) throws -> [RelayedEvent] {
        try body.withUnsafeBytes { frame in
            try packed.withOptionalBytes { packed in
                let batch = ReceivedBatch(try SampleBody(frame), frame, packed: packed)
                try batch.check { () throws(MessageError) in try batch.fields.count }
                // These are the longest numbers that a piece can have.
                let rows = batch.body.count..<2 * batch.body.count
                let room = limit - piece(of: batch, rows, values: []).body.count
                if let values = batch.body.values { return try cut(batch, values, room: room) }
                return batch.packed.map { cut(batch, packed: $0, room: room) } ?? [self]
            }
        }
    }

    private func cut(_ batch: ReceivedBatch, packed: UnsafeRawBufferPointer, room: Int) -> [RelayedEvent] {
        let size = packed.count / batch.body.count
        let count = max(1, room / size)
        return stride(from: 0, to: batch.body.count, by: count).map { row in
            let rows = row..<min(row + count, batch.body.count)
            return piece(of: batch, rows, packed: Array(packed[rows.lowerBound * size..<rows.upperBound * size]))
        }
    }

    private func cut(
        _ batch: ReceivedBatch, _ values: Range<Int>, room: Int
    ) throws(MessageError) -> [RelayedEvent] {
        let columns = try batch.fields.count
        var rows = SampleRows(batch.frame, values: values, columns: columns, types: try batch.types)
        var pieces: [RelayedEvent] = []
        var text: [UInt8] = []
        var first = 0
        while try rows.next() {
            let row = rows.token(0).lowerBound..<rows.token(columns - 1).upperBound
            if !text.isEmpty, text.count + row.count + 3 > room {
                pieces.append(piece(of: batch, first..<rows.rowCount - 1, values: text))
                (text, first) = ([], rows.rowCount - 1)
            }
            text += (text.isEmpty ? "[" : ",[").utf8
            text += batch.frame[row]
            text.append(UInt8(ascii: "]"))
        }
        pieces.append(piece(of: batch, first..<rows.rowCount, values: text))
        return rows.rowCount == batch.body.count ? pieces : [self]
    }

    /// Some rows of a batch, encoded as publishers encode them.
    private func piece(
        of batch: ReceivedBatch, _ rows: Range<Int>, values: [UInt8]? = nil, packed: [UInt8]? = nil
    ) -> RelayedEvent {
        let place = BatchPlace(
            epoch: SampleBody.string(at: batch.body.epoch, in: batch.frame),
            from: batch.body.sequence + rows.lowerBound, count: rows.count)
        var text: [UInt8] = []
        func put(_ key: String, _ token: Range<Int>) {
            text += key.utf8
            text += batch.frame[token]
        }
        put(#"{"clock":"#, batch.body.clock)
        text += #","count":\#(place.count)"#.utf8
        put(#","device":"#, batch.body.device)
        put(#","epoch":"#, batch.body.epoch)
        put(#","fields":"#, batch.body.fields)
        text += #","schema":"\#(SampleBatch.schema)","sequence":\#(place.from)"#.utf8
        put(#","source":"#, batch.body.source)
        put(#","stream":"#, batch.body.stream)
        if let types = batch.body.types { put(#","types":"#, types) }
        if let values {
            text += #","values":["#.utf8
            text += values
            text.append(UInt8(ascii: "]"))
        }
        text.append(UInt8(ascii: "}"))
        return RelayedEvent(name: name, place: place, body: text, packed: packed, time: time)
    }
}
