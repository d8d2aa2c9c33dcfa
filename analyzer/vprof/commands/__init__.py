"""One file per verb; each defines a click command named `command`."""
