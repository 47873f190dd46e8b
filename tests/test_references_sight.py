"""Whose references are shown to whom, and what of them is never kept."""
