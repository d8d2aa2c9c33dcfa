"""Views of one `Analysis`: text, JSON, DOT. A view formats; it computes nothing."""
