"""What is kept beside the conversation, read and written one by one: the seed's optional doors."""
