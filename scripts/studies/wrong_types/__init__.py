"""What does each command say of a document in which one field has another type, or a very long text?"""
