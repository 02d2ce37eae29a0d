"""Models as JSON files. Numbers are read back exactly, and equal models give equal files.

A file holds the format version, target, schema, numeric types, learner, the settings that change
the result, and the fields of the learner's kind of model: for ``rlr`` the prior and the weighted
clauses with their totals on the training data. It never holds times or paths, or how the model
was computed.

Each learner has a kind of model, registered by the module that defines it. ``HOMES`` names these
modules, so that reading a file imports no more than the file needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine
from hornbeam.errors import InputError, ModelError, OptionError, Place
from hornbeam.files import write_file
from hornbeam.logic.clauses import Clause, Comparison
from hornbeam.logic.schema import KINDS, Schema
from hornbeam.model.clause_model import Floats, Model, WeightedClause
from hornbeam.model.effects import effect_fields, read_effect
from hornbeam.model.features import COUNT, FEATURES, SHARE, is_feature
from hornbeam.model.fields import Fields, read_settings
from hornbeam.model.scales import LOGISTIC, SCALES, Integers, Scale, shares
from hornbeam.model.training import read_training, training_fields

if TYPE_CHECKING:
    from hornbeam.model.editing.edits import Edit

FORMAT_VERSION = 1
"""The version of the format. It rises when a file of it may mean something else."""
MOST_BYTES = 1 << 28
"""Size limit of a model file, so that reading ends even if the file is an endless device."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class LearnedModel(Protocol):
    """The interface that the models of all learners share."""

    @property
    def target(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def settings(self) -> Mapping[str, object]: ...
    @property
    def learner(self) -> str: ...
    @property
    def prior(self) -> float:
        """The log-odds of an example before any part of the model adds to it."""
        ...

    @property
    def size_text(self) -> str:
        """The number and kind of its parts in words: ``3 clauses``."""
        ...

    def predicates(self) -> tuple[str, ...]:
        """The predicates whose facts it reads, sorted."""
        ...

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example."""
        ...

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """P(y=1) of each example."""
        ...


def scale_of(model: LearnedModel) -> Scale:
    """What the scores of a model stand for."""
    return SCALES[_loss_of(model)]


def predictions_of(
    model: LearnedModel, engine: Engine, keys: Codes, choices: Integers | None = None
) -> Floats:
    """The prediction for each example: probabilities, or numbers if the target is numeric.

    ``choices`` has the choice of each example, for a model that was not learned with a column of choices.
    """
    from hornbeam.model.choices import choices_of

    scale = scale_of(model)
    if scale.of_choice:
        return shares(model.scores(engine, keys), choices_of(model, engine, keys, choices))
    return scale.link(model.scores(engine, keys)) if scale.numeric else model.probabilities(engine, keys)


def chosen_of(
    model: LearnedModel, engine: Engine, keys: Codes, predicted: Floats, choices: Integers | None = None
) -> npt.NDArray[np.bool_] | None:
    """For a model of choices, whether each example is the best one of its choice."""
    from hornbeam.model.choices import best_of, choices_of

    if not scale_of(model).of_choice:
        return None
    return best_of(predicted, choices_of(model, engine, keys, choices))


def probabilities_of(model: LearnedModel, engine: Engine, keys: Codes) -> Floats:
    """P(y=1) of each example, from scores; an error if the model predicts numbers."""
    scale = scale_of(model)
    if scale.numeric:
        raise ModelError(f'the model of "{model.target}" predicts numbers, not probabilities.')
    together = scale.of_choice or scale.of_class
    return predictions_of(model, engine, keys) if together else scale.link(model.scores(engine, keys))


def constant_of(model: LearnedModel) -> float | None:
    """The best constant prediction for the training examples of a numeric target; None if it is not known."""
    constant = model.settings.get("constant")
    known = isinstance(constant, int | float) and not isinstance(constant, bool)
    return float(constant) if known else None  # type: ignore[arg-type]


class Common(NamedTuple):
    """The fields of a model file that all learners share."""

    target: str
    schema: Schema
    settings: Mapping[str, object]
    learner: str


class ModelKind(NamedTuple):
    """How the models of one learner are written as fields of a JSON object and read from them."""

    fields: Callable[[Any], dict[str, object]]
    read: Callable[[Common, Fields], LearnedModel]


JOINT = "joint"
"""The learner of models of targets that depend on each other."""
HOMES: dict[str, str] = {
    "agg-lr": "hornbeam.rivals.agg_lr.model",
    "ilp-rlr": "hornbeam.rivals.ilp_rlr.learner",
    "mln-boost": "hornbeam.rivals.mln_boost",
    JOINT: "hornbeam.joint.model",
    "one-vs-rest": "hornbeam.model.class_model",
    "rdn-boost": "hornbeam.rivals.trees.model",
    "softmax": "hornbeam.model.class_model",
}
"""Modules that register the kinds of other learners, imported when a model file needs one."""
_kinds: dict[str, ModelKind] = {}


def register_kind(learner: str, kind: ModelKind) -> None:
    """Register how models of a learner are written and read."""
    _kinds[learner] = kind


def fields_of(model: LearnedModel) -> dict[str, object]:
    """The fields that only this kind of model has, as JSON values."""
    return _kind(model.learner, None).fields(model)


def read_fields(common: Common, fields: Fields) -> LearnedModel:
    """The model whose fields ``fields_of`` wrote, given the fields that all learners share."""
    return _kind(common.learner, None).read(common, fields)


def model_text(model: LearnedModel) -> str:
    """The model as JSON text: sorted keys, fixed layout, a newline at the end."""
    document: dict[str, object] = {
        "format_version": FORMAT_VERSION,
        "learner": model.learner,
        "schema": {name: list(types) for name, types in model.schema.predicates.items()},
        "settings": dict(model.settings),
        "target": model.target,
    }
    if model.schema.numeric:
        document["numeric"] = dict(model.schema.numeric)
    return _layout(document | fields_of(model))


def parse_model(text: str, source: str = "model") -> LearnedModel:
    """Read a model from the text that ``model_text`` wrote; any other text raises ``ModelError``."""
    place = Place(source)
    fields = Fields(_document(text, source), place)
    if not fields.has("format_version"):
        raise ModelError("this is not a Hornbeam model: it has no format_version.", place)
    version = fields.whole("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"the model has format version {version}, but this Hornbeam reads version {FORMAT_VERSION}: "
            "install the Hornbeam that wrote it, or fit again.",
            place,
        )
    learner = fields.text("learner")
    kind = _kind(learner, place)
    common = Common(fields.text("target"), _schema(fields), read_settings(fields), learner)
    if common.target not in common.schema.predicates:
        raise fields.wrong("target", "a predicate of the schema", common.target)
    model = kind.read(common, fields)
    fields.close()
    return model


def save_model(model: LearnedModel, path: str | Path) -> None:
    """Write the model to a file atomically."""
    if hasattr(model, "fit"):
        kind = type(model).__name__
        raise OptionError(f"save_model takes a model, not a {kind}: pass its model_ attribute after fit.")
    write_file(path, model_text(model))


def load_model(path: str | Path) -> LearnedModel:
    """Read a model file; ``ModelError`` if it is damaged, or of another format or an unknown learner."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise ModelError("no such model file.", Place(str(path))) from None
    except UnicodeDecodeError:
        raise ModelError("this is not a model file: it is not UTF-8 text.", Place(str(path))) from None
    except OSError as error:
        raise ModelError(f"the model file cannot be read ({error.strerror}).", Place(str(path))) from None
    if len(data) > MOST_BYTES:
        raise ModelError(
            f"the model file is larger than {MOST_BYTES:,} bytes, so it cannot be a model.", Place(str(path))
        )
    return parse_model(text, str(path))


def _kind(learner: str, place: Place | None) -> ModelKind:
    if learner not in _kinds and learner in HOMES:
        import_module(HOMES[learner])
    if learner not in _kinds:
        known = ", ".join(sorted({*_kinds, *HOMES}))
        raise ModelError(f'unknown learner "{learner}"; known learners are: {known}.', place)
    return _kinds[learner]


def _document(text: str, source: str) -> dict[str, object]:
    def refuse(word: str) -> float:
        raise ModelError(f"the model file is damaged: {word} is not a finite number.", Place(source))

    try:
        document = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = Place(source, error.lineno, error.colno)
        what = "the model file is damaged" if text.startswith("{") else "this is not a Hornbeam model"
        raise ModelError(f"{what}: not JSON ({error.msg}).", place) from None
    except (ValueError, RecursionError):
        raise ModelError("the model file is damaged: not usable JSON.", Place(source)) from None
    if not isinstance(document, dict):
        raise ModelError("this is not a Hornbeam model: not a JSON object.", Place(source))
    if _SURROGATE.search(text) and not _is_text(json.dumps(document, ensure_ascii=False)):
        raise ModelError("the model file is damaged: it contains half of a surrogate pair.", Place(source))
    return document


def _is_text(text: str) -> bool:
    """Whether a value can be written as UTF-8; JSON allows half of a surrogate pair, UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _schema(fields: Fields) -> Schema:
    predicates: dict[str, tuple[str, ...]] = {}
    for name, types in fields.mapping("schema").items():
        if not isinstance(types, list) or not types or not all(isinstance(t, str) and t for t in types):
            raise fields.wrong("schema", "a list of type names for each predicate", {name: types})
        predicates[name] = tuple(types)
    numeric: dict[str, str] = {}
    for name, kind in fields.mapping("numeric").items() if fields.has("numeric") else ():
        if kind not in KINDS:
            raise fields.wrong("numeric", f"{' or '.join(KINDS)} for each numeric type", {name: kind})
        numeric[name] = str(kind)
    return Schema(predicates, numeric)


def _layout(document: Mapping[str, object]) -> str:
    """JSON with a line per field and per member of a list or object: small changes give small diffs."""

    def dumps(value: object) -> str:
        return json.dumps(value, sort_keys=True, allow_nan=False)

    fields = []
    for name, value in sorted(document.items()):
        if isinstance(value, list) and value:
            members = ",\n".join(f"    {dumps(member)}" for member in value)
            written = f"[\n{members}\n  ]"
        elif isinstance(value, dict) and value:
            members = ",\n".join(f"    {dumps(key)}: {dumps(value[key])}" for key in sorted(value))
            written = f"{{\n{members}\n  }}"
        else:
            written = dumps(value)
        fields.append(f"  {dumps(name)}: {written}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


# --- weighted clauses: the models of rlr, and of other learners that register this kind -----------


def _clause_fields(model: Model) -> dict[str, object]:
    clauses = [clause_fields(weighted) for weighted in model.clauses]
    more: dict[str, object] = {}
    if model.effects:
        more["effects"] = [effect_fields(fitted) for fitted in model.effects]
    if model.training is not None:
        more["training"] = training_fields(model.training)
    if model.edits:
        from hornbeam.model.editing.edits import edit_fields

        more["edits"] = [edit_fields(edit) for edit in model.edits]
    more |= loss_fields(model)
    return {"prior": model.prior, "clauses": clauses, **more}


def clause_fields(weighted: WeightedClause) -> dict[str, object]:
    """A clause with its weights as JSON values."""
    return (
        {"clause": str(weighted.clause), "total": weighted.total, "weights": list(weighted.weights)}
        | ({} if weighted.feature == COUNT else {"feature": weighted.feature})
        | ({} if weighted.each is None else {"each": weighted.each, "constants": dict(weighted.constants)})
    )


def _read_clauses(common: Common, fields: Fields) -> Model:
    prior = fields.number("prior")
    clauses = tuple(read_clause(common, member) for member in fields.objects("clauses", "clause"))
    effects = [
        read_effect(common.target, common.schema, member)
        for member in (fields.objects("effects", "effect") if fields.has("effects") else ())
    ]
    training = read_training(fields.nested("training")) if fields.has("training") else None
    loss = read_loss(fields)
    edits = _read_edits(common, fields) if fields.has("edits") else ()
    return Model(
        common.target,
        common.schema,
        prior,
        clauses,
        common.settings,
        common.learner,
        tuple(effects),
        training,
        loss,
        edits,
    )


def _read_edits(common: Common, fields: Fields) -> tuple[Edit, ...]:
    from hornbeam.model.editing.edits import read_edit

    return tuple(read_edit(common.schema, member) for member in fields.objects("edits", "edit"))


def _loss_of(model: LearnedModel) -> str:
    return str(getattr(model, "loss", LOGISTIC))


def loss_fields(model: LearnedModel) -> dict[str, object]:
    """The loss, if the target is numeric."""
    return {} if _loss_of(model) == LOGISTIC else {"loss": _loss_of(model)}


def read_loss(fields: Fields) -> str:
    """The loss of a model; a file without it is of a model of labels."""
    loss = fields.text("loss") if fields.has("loss") else LOGISTIC
    known = [name for name, scale in SCALES.items() if not scale.of_class]
    if loss not in known:
        raise fields.wrong("loss", " or ".join(known), loss)
    return loss


def read_clause(common: Common, fields: Fields) -> WeightedClause:
    """The clause that ``clause_fields`` wrote."""
    from hornbeam.logic.clauses import GUARDED
    from hornbeam.logic.parse import parse_clause

    text = fields.text("clause")
    try:
        clause = parse_clause(text, common.schema)
    except InputError as error:
        raise fields.wrong("clause", f"a clause of the model's schema ({error})", text) from None
    if clause.head.predicate != common.target:
        raise fields.wrong("clause", f'a clause with head "{common.target}"', text)
    weights = fields.numbers("weights")
    if len(weights) != 3:
        raise fields.wrong("weights", "three numbers", list(weights))
    total = fields.whole("total")
    feature = fields.text("feature") if fields.has("feature") else COUNT
    if not is_feature(feature):
        raise fields.wrong("feature", " or ".join(FEATURES), feature)
    if feature == SHARE and not _can_share(common, clause, fields):
        needs = (
            f'another feature, because a share needs false_counts "{GUARDED}" in the settings and '
            "a body of two or more literals, where the last literal introduces no variable"
        )
        raise fields.wrong("feature", needs, feature)
    each: int | None = None
    constants: tuple[tuple[str, float], ...] = ()
    if fields.has("each"):
        each, constants = fields.whole("each"), fields.weights("constants")
        compared = {literal.variable for literal in clause.body if isinstance(literal, Comparison)}
        if each not in {*clause.free_variables()} - compared:
            raise fields.wrong("each", "the number of a free variable that the clause does not compare", each)
    fields.close()
    return WeightedClause(clause, (weights[0], weights[1], weights[2]), total, feature, each, constants)


def _can_share(common: Common, clause: Clause, fields: Fields) -> bool:
    """Whether the feature of a clause may be ``share``: it has a guard, and no weights for constants."""
    from hornbeam.logic.clauses import GUARDED
    from hornbeam.logic.guards import new_variables

    guarded = common.settings.get("false_counts") == GUARDED and len(clause.body) > 1
    return guarded and not new_variables(clause) and not fields.has("each")


WEIGHTED_CLAUSES = ModelKind(_clause_fields, _read_clauses)
register_kind("rlr", WEIGHTED_CLAUSES)
