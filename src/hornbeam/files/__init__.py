"""Files: written completely or not at all, temporary folders, and names and paths inside SQL."""
