"""Facts and examples in text files, in BoostSRL layout or in one flat folder."""
