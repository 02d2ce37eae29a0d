"""Joint models on the command line: what the verbs fit, predict, evaluate and explain do with them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.cli.flags import Counting, ExampleSource, LinkedSource
from hornbeam.cli.messages import print_message, say, say_written
from hornbeam.cli.opened import load_for
from hornbeam.cli.output import csv_text, json_text, write_result
from hornbeam.errors import DataError, OptionError, plural

if TYPE_CHECKING:
    from hornbeam.data.database import Database, Examples
    from hornbeam.data.keys import Names
    from hornbeam.joint.fitting.learner import JointFit
    from hornbeam.joint.model import JointMember, JointModel
    from hornbeam.joint.predict import Together
    from hornbeam.joint.things import NamedEvidence
    from hornbeam.learning.loop import Control
    from hornbeam.learning.options import Options
    from hornbeam.report.html.summary import About


class Page(NamedTuple):
    """What a report is about, where it is written, and how many examples it has at most."""

    about: About
    out: Path
    shown: int


def check_joint(options: Options, others: Mapping[str, object]) -> None:
    """Refuse what joint models cannot do."""
    for flag, value in others.items():
        if value is not None:
            raise OptionError(f"{flag} is refused: joint models do not have it.")
    if getattr(options, "loss", "") == "choice":
        raise OptionError("--loss choice is refused: joint models have no choices.")
    if options.learner != "rlr" or options.preset == "paper":
        raise OptionError("--joint is refused: it needs the learner rlr with its default preset.")


def learn_joint(
    database: Database, targets: list[str], labels: Path | None, options: Options, control: Control
) -> JointFit:
    """Learn a joint model from labels in a file or in the data; without targets, of all with examples."""
    from hornbeam.joint.fitting.learner import fit_joint
    from hornbeam.joint.targets import task_of, tasks_in

    every = sorted(database.example_sets) if len(database.example_sets) > 1 else []
    names = targets or every or [database.target_named(None)]
    found = tasks_in(labels, database, names) if labels else [task_of(database, name) for name in names]
    return fit_joint(database, found, options, control=control)


def joint_model(model: Path, evidence: Path | None) -> JointModel | None:
    """The model in a file if it is a joint one; other models take no evidence."""
    from hornbeam.model.files import JOINT, load_model

    learned = load_model(model)
    if learned.learner != JOINT:
        if evidence is not None:
            raise OptionError("--evidence is refused: only joint models use labels of other things.")
        return None
    from hornbeam.joint.model import JointModel

    assert isinstance(learned, JointModel)
    return learned


def together(
    model: JointModel, source: LinkedSource, counting: Counting, evidence: Path | None
) -> tuple[Database, Together]:
    """Load the data and guess all unknown labels."""
    from hornbeam.joint.predict import predict_together, world_of

    database = load_for(model, source, counting.loading(), negatives=isinstance(source, ExampleSource))
    known = None if evidence is None else _evidence(model, evidence)
    found = predict_together(world_of(model, database, {}, known, counting.budget))
    say(found.notices)
    n_known = sum(int(each.things.known.sum()) for each in found.world.linked.values())
    print_message(f"{found.guesses.convergence}; {n_known:,} labels are known")
    return database, found


def predict_joint(database: Database, found: Together, out: Path | None) -> None:
    """Write the probabilities of the examples of all targets."""
    from hornbeam.joint.things import hidden
    from hornbeam.model.readable.predictions import prediction_table

    model = found.world.model
    arities = {member.target.name: model.schema.arity(member.target.name) for member in model.members}
    if len(model.members) > 1:
        arity = max(arities.values())
        header = ["target", *(f"arg{n + 1}" for n in range(arity)), "label", "class", "probability"]
        rows = list(_long_rows(database, found, arity))
        write_result(csv_text(header, rows), out, exact=True)
        say_written(out, plural(len(rows), "row"))
        return
    (member,) = model.members
    examples, names = _examples(database, member)
    chances = found.probabilities(member.target.name, names)
    shown = chances if member.target.classes else chances[:, 1]
    table = prediction_table(member.model, hidden(database, arities), examples, shown)
    write_result(csv_text(table.header, table.rows()), out, exact=True)
    say_written(out, plural(len(examples), "prediction"))


def _long_rows(database: Database, found: Together, arity: int) -> Iterator[tuple[object, ...]]:
    """A row for each target, key and class; for a target that is true or false, only for true."""
    for member in found.world.model.members:
        examples, names = _examples(database, member)
        chances = found.probabilities(member.target.name, names)
        classes = list(enumerate(member.target.classes)) or [(1, "1")]
        for key, label, row in zip(names.tolist(), _label_texts(examples), chances.tolist(), strict=True):
            padded = [*key, *[""] * (arity - len(key))]
            for number, text in classes:
                yield (member.target.name, *padded, label, text, repr(row[number]))


def _examples(database: Database, member: JointMember) -> tuple[Examples, Names]:
    """The examples of a target in the data, with the labels that the data have, and their keys as names."""
    from hornbeam.joint.targets import examples_in, names_in

    examples = examples_in(database, member.target.name).as_given()
    return examples, names_in(database, examples)


def _label_texts(examples: Examples) -> list[object]:
    names = examples.classes or (0, 1)
    return ["" if label < 0 else names[label] for label in examples.labels.tolist()]


def evaluate_joint(database: Database, found: Together, json: bool) -> None:
    """Score each target on the examples whose labels are not evidence."""
    import numpy as np

    from hornbeam.model.evaluate import evaluate, evaluate_classes

    results: dict[str, Mapping[str, object]] = {}
    for member in found.world.model.members:
        examples, names = _examples(database, member)
        things = found.world.linked[member.target.name].things
        places = things.places_of(found.world.database.encode_keys(member.target.name, names))
        known = np.isin(places, np.flatnonzero(things.known))
        asked = (examples.labels >= 0) & ~known
        if not asked.any():
            raise DataError(f'no example of "{member.target.name}" has a label that is not evidence.')
        chances = found.probabilities(member.target.name, names[asked])
        labels = examples.labels[asked]
        if member.target.classes:
            texts = [examples.classes[label] for label in labels]
            results[member.target.name] = evaluate_classes(texts, chances, member.target.classes).as_dict()
        else:
            results[member.target.name] = evaluate(labels, chances[:, 1]).as_dict()
    if json:
        whole = results if len(results) > 1 else next(iter(results.values()))
        write_result([json_text(whole)], None)
        return
    for name, scores in results.items():
        lines = [f"{key} {value}" for key, value in scores.items()]
        write_result(["\n".join([f"target {name}"] * (len(results) > 1) + lines) + "\n"], None)


def report_joint(database: Database, found: Together, asked_class: str | None, page: Page) -> int:
    """Write the report of one target: its examples whose labels are not known; returns their number."""
    from dataclasses import replace

    import numpy as np

    from hornbeam.data.database import UNLABELLED
    from hornbeam.logic.english.nouns import capital
    from hornbeam.report import report
    from hornbeam.report.numbers.joint_view import JointView

    member, of_class = _reported_target(found.world.model, asked_class)
    name = member.target.name
    examples, names = _examples(database, member)
    keys = found.world.database.encode_keys(name, names)
    things = found.world.linked[name].things
    known = np.isin(things.places_of(keys), np.flatnonzero(things.known))
    label = _reported_label(member, examples, of_class)
    shown = np.flatnonzero(~known)
    given = examples.labels[shown]
    truth = label if not member.target.classes else _place(examples.classes, member.target.classes[label])
    labels = np.where(given == UNLABELLED, UNLABELLED, given == truth).astype(np.int8)
    asked = replace(examples, keys=keys[shown], labels=labels, classes=())
    text = member.target.label_text(label)
    notes = (
        f"This page shows the joint model's guesses of {name}: {text}. The {int(known.sum()):,} examples "
        f"whose labels are known are left out. {capital(str(found.guesses.convergence))}.",
    )
    about = replace(page.about, notes=(*page.about.notes, *notes), of_class=text if of_class else "")
    view = JointView(found, member, label)
    report(view, found.world.engine, asked, about, page.shown).save(page.out)
    return len(shown)


def _reported_target(model: JointModel, asked: str | None) -> tuple[JointMember, str | None]:
    """The target that a report shows, and its class: from ``CLASS`` of the first one, or ``TARGET=CLASS``."""
    names = [member.target.name for member in model.members]
    name, equals, of_class = (asked or "").partition("=")
    if name in names:
        return model.member(name), of_class if equals else None
    return model.members[0], asked


def _reported_label(member: JointMember, examples: Examples, of_class: str | None) -> int:
    """The number of the label that a report shows: the one asked for, or the most frequent class."""
    classes = member.target.classes
    if of_class is not None:
        if of_class not in classes:
            raise OptionError(f"--class {of_class} is refused: classes are {', '.join(classes) or 'none'}.")
        return classes.index(of_class)
    if not classes:
        return 1
    sizes = {name: int((examples.labels == _place(examples.classes, name)).sum()) for name in classes}
    return classes.index(max(classes, key=lambda name: sizes[name]))


def _place(classes: tuple[str, ...], name: str) -> int:
    return classes.index(name) if name in classes else len(classes)


def explain_joint(found: Together, example: str, json: bool) -> None:
    """Explain one example."""
    from hornbeam.joint.explain import explain_together
    from hornbeam.logic.parse import parse_fact

    targets = [member.target.name for member in found.world.model.members]
    schema = found.world.model.schema
    if "(" not in example:
        keys = next(csv.reader([example], skipinitialspace=True), [])
        if len(targets) > 1 or len(keys) != schema.arity(targets[0]):
            raise OptionError(f"--example {example} is refused: it must be an atom such as {targets[0]}(x).")
        explanation = explain_together(found, targets[0], keys)
        write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)
        return
    atom = parse_fact(example, "--example")
    if atom.predicate not in targets or len(atom.args) != schema.arity(atom.predicate):
        forms = ", ".join(f"{name}({','.join(schema.types_of(name))})" for name in targets)
        raise DataError(f"{example} is no example of this model, which predicts {forms}.")
    explanation = explain_together(found, atom.predicate, [str(name) for name in atom.args])
    write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)


def _evidence(model: JointModel, path: Path) -> NamedEvidence:
    """The labels of a file: keys and a column label; for several targets, also a column target."""
    from hornbeam.joint.targets import read_evidence

    return read_evidence(path, {m.target: model.schema.arity(m.target.name) for m in model.members})
