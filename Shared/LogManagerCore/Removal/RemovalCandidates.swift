package import Recording

/// What a clean-up would remove now.
package struct RemovalCandidates: Sendable {
    /// The stream files, in order.
    package let files: [CatalogFile]
    /// The sessions whose directories may be removed after these files, in the groups in which they would be retired. The disk
    /// shows which of them must stay.
    package let sessions: [[SessionIdentifier]]
    /// Whether everything that was removed from such a session must have been uploaded.
    package let onlyUploaded: Bool
    /// What is to be freed besides the files.
    package var plan: RemovalPlan
}
