"""A module whose import fails."""

{}["missing"]
