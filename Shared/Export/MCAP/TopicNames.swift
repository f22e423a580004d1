/// The topics of one file or server: valid ROS names, each used once.
package struct TopicNames {
    private var used: Set<String>

    package init(_ used: Set<String> = []) { self.used = used }

    /// Reserves a topic.
    /// - Returns: its name, with underscores at the end if the name was used before.
    package mutating func add(_ topic: String) -> String {
        var topic = topic
        while !used.insert(topic).inserted { topic += "_" }
        return topic
    }

    package mutating func remove(_ topic: String) { used.remove(topic) }

    /// A valid ROS name: letters, digits and underscores.
    package static func name(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_" + name : name
    }
}
