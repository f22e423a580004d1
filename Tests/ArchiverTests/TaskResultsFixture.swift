/// Results from the predecessors' test: five steps and, optionally, a section with the same five.
enum TaskResultsFixture {
    /// One answer in a collection, two in another collection under another name, and two standing alone.
    static func steps(_ numbers: [Int]) -> String {
        """
        {"identifier": "introduction", "type": "base"},
        {"identifier": "collection", "inputResults": [
          {"identifier": "input1", "value": \(numbers[0])}, {"identifier": "input2", "value": \(numbers[1])},
          {"identifier": "input3", "value": \(numbers[2])}, {"identifier": "input4", "value": null}]},
        {"identifier": "single", "inputResults": [{"identifier": "single", "value": \(numbers[3])}]},
        {"identifier": "only", "value": \(numbers[4])}
        """
    }

    /// The single task: a file result, five steps, and a section with the same five.
    static let single = """
        {"taskRunUUID": "3B1D1B9C-2A3F-4A8E-9A55-0D1C7D3A5E11", "schemaInfo": {"identifier": "foo", "revision": 3},
         "stepHistory": [
          \(steps([1, 2, 4, 5, 7])),
          {"identifier": "sectionA", "stepHistory": [\(steps([1, 2, 4, 3, 9]))]}],
         "asyncResults": [{"identifier": "asyncFile", "relativePath": "asyncFile.txt", "contentType": "text/plain"}]}
        """

    /// The combined task: three answers of its own, and three of a section.
    static let combined = """
        {"stepHistory": [
          {"identifier": "collection", "inputResults": [
            {"identifier": "input1", "value": 1}, {"identifier": "input2", "value": 2}]},
          {"identifier": "only", "value": 3},
          {"identifier": "sectionA", "stepHistory": [
            {"identifier": "collection", "inputResults": [
              {"identifier": "input1", "value": 1}, {"identifier": "input2", "value": 5}]},
            {"identifier": "only", "value": 6}]}],
         "asyncResults": [{"identifier": "asyncFile", "relativePath": "asyncFile.txt", "contentType": "text/plain"}]}
        """
}
