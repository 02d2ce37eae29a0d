"""The demonstration of pairs: generate a university, learn who advises whom, score and explain on another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hornbeam.datasets.worlds import UNIVERSITY_TRUTH, university
from hornbeam.engines.registry import open_engine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.model.evaluate import evaluate
from hornbeam.model.explain import explain
from hornbeam.report import About, report

TARGET = "advisedby"


def story(page: Path) -> Iterator[str]:
    """Yields the text of the demonstration part by part, and writes the report to ``page``."""
    training, testing = university(seed=0), university(seed=1)
    examples = training.examples_of(TARGET)
    positives = int(examples.labels.sum())
    yield (
        "A generated university. Who publishes together is likelier to advise each other, by\n"
        f"  {UNIVERSITY_TRUTH.clauses[0]}\n"
        f"  {training}\n"
        f"  {positives:,} positive and {len(examples) - positives:,} negative examples\n"
    )
    fitted = fit(open_engine("memory", training), examples, EffectOptions(neg_pos_ratio=None, max_effects=3))
    model = fitted.model
    yield f"Learned:\n{_indented(model.words())}\n\n  {fitted.history.score}\n"
    engine = open_engine("memory", testing)
    unseen = testing.examples_of(TARGET)
    probabilities = model.probabilities(engine, unseen.keys)
    scores = evaluate(unseen.labels, probabilities)
    yield f"Scores on another university, not used for learning:\n{_indented(scores)}\n"
    (key,) = unseen.keys[[int(probabilities.argmax())]]
    (names,) = testing.names_of(TARGET, key.reshape(1, -1)).tolist()
    explanation = explain(model, engine, key, names)
    yield f"Explanation of the highest probability:\n{_indented(explanation)}\n"
    about = About("a generated university, not used for learning", history=fitted.history.as_dict())
    report(model, engine, unseen, about).save(page)
    yield f"A report with every example and its explanation: {page}\n"
    yield "For your own data: hornbeam fit DATA --target NAME --model m.json (see hornbeam fit --help)."


def _indented(value: object) -> str:
    return "\n".join(f"  {line}".rstrip() for line in str(value).splitlines())
