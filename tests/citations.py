"""Generated citations: papers with topics, words that hint at them, and links between papers of a topic."""

from __future__ import annotations

import numpy as np
import pandas as pd

TOPICS = ("ai", "db", "ml")


def tables(
    n_papers: int = 150, n_links: int = 300, seed: int = 0, hint: float = 0.4
) -> dict[str, pd.DataFrame]:
    """Tables of papers, their words and their links; without links, papers have no neighbours.

    A word of the topic of a paper is in it with the probability ``hint``, another word with 0.2.
    """
    rng = np.random.default_rng(seed)
    topic = rng.integers(len(TOPICS), size=n_papers)
    papers = pd.DataFrame({"paper_id": [f"p{n}" for n in range(n_papers)], "topic": np.array(TOPICS)[topic]})
    hints = rng.random((n_papers, 12)) < np.where(np.arange(12) % 3 == topic[:, None], hint, 0.2)
    paper, word = np.nonzero(hints)
    words = pd.DataFrame({"paper_id": papers.paper_id[paper].to_numpy(), "word": [f"w{n}" for n in word]})
    found = {"papers": papers, "words": words}
    if n_links:
        left, right = rng.integers(n_papers, size=(2, 20 * n_links))
        kept = (left != right) & ((topic[left] == topic[right]) | (rng.random(len(left)) < 0.1))
        ends = papers.paper_id.to_numpy()
        frame = pd.DataFrame({"paper_id": ends[left[kept]], "other_id": ends[right[kept]]})
        found["links"] = frame.drop_duplicates().head(n_links)
    return found
