"""A policy as one JSON file: what it was made with, its history, and the models of its actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hornbeam.errors import InputError, ModelError, Place
from hornbeam.model.clause_model import Model
from hornbeam.model.files import MOST_BYTES, model_text, parse_model

FORMAT_VERSION = 1
KIND = "relational policy"
_HISTORY = ("number", "actions_tried", "effects", "held_out_return", "kept")
_GIVEN = ("actions", "predicates", "closures", "discount", "max_effects", "max_links", "random_state")


def policy_text(
    given: Mapping[str, object], models: Mapping[str, Model], history: Sequence[Mapping[str, object]]
) -> str:
    """The text of a policy file; equal policies give equal files."""
    document = {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        **given,
        "history": list(history),
        "models": {name: json.loads(model_text(model)) for name, model in models.items()},
    }
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"


def read_policy(path: str | Path) -> tuple[dict[str, Any], dict[str, Model], list[dict[str, Any]]]:
    """What a policy was made with, its models, and its history; raises ``ModelError`` for any other file."""
    place = Place(str(path))
    document = _document(path, place)
    if document.get("kind") != KIND:
        raise ModelError("this is not a policy: RelationalPolicy.save writes one.", place)
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(f"the policy has format version {version}, but this Hornbeam reads 1.", place)
    missing = [name for name in (*_GIVEN, "models", "history") if name not in document]
    if missing:
        raise ModelError(f'field "{missing[0]}" is missing; the file is damaged.', place)
    models, history = document["models"], document["history"]
    if not isinstance(models, dict) or not isinstance(history, list):
        raise ModelError("the models or the history are damaged.", place)
    read: dict[str, Model] = {}
    for name, fields in models.items():
        try:
            model = parse_model(json.dumps(fields), f'{path}, model of "{name}"')
        except InputError as error:
            raise ModelError(error.message, Place(f'{path}, model of "{name}"')) from None
        if not isinstance(model, Model) or model.target != name or name not in document["actions"]:
            raise ModelError(f'the model of "{name}" is not one of an action of this policy.', place)
        read[name] = model
    if {*read} != {*document["actions"]} or not all(_is_iterate(each) for each in history):
        raise ModelError("the models or the history do not fit the actions; the file is damaged.", place)
    return {name: document[name] for name in _GIVEN}, read, history


def _is_iterate(value: object) -> bool:
    return isinstance(value, dict) and {*value} == {*_HISTORY}


def _document(path: str | Path, place: Place) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ModelError(f"the file is larger than {MOST_BYTES:,} bytes.", place)
        document = json.loads(data.decode("utf-8"))
    except FileNotFoundError:
        raise ModelError("no such policy file.", place) from None
    except OSError as error:
        raise ModelError(f"the policy file cannot be read ({error.strerror}).", place) from None
    except (ValueError, RecursionError):
        raise ModelError("this is not a policy: not usable JSON.", place) from None
    if not isinstance(document, dict):
        raise ModelError("this is not a policy: not a JSON object.", place)
    return document
