"""Background in all the shapes that people keep it in, and a word on everything that is not used."""

from folders import examples_of, facts_of, flat, said, write
from hornbeam.loading import load, modes_text
from hornbeam.logic.clauses import Atom

MODES = "friends(+person,-person).\nsmokes(+person).\ncancer(+person).\n"
FACTS = "friends(ann,bob).\nsmokes(bob).\n"


def modes(folder):
    return [str(mode) for mode in load(folder).modes]


def test_modes_with_and_without_their_word(tmp_path):
    flat(tmp_path, FACTS, "mode: friends(+Person, -PERSON).\r\nMode:smokes( +person )\r\ncancer(+person)")
    assert modes(tmp_path) == ["friends(+person,-person).", "smokes(+person).", "cancer(+person)."]
    assert said(load(tmp_path), tmp_path) == []


def test_a_mode_said_twice_is_one(tmp_path):
    flat(tmp_path, FACTS, MODES + "mode: friends(+person,-person).")
    assert len(modes(tmp_path)) == 3


def test_all_marks_of_modes(tmp_path):
    flat(tmp_path, "p(ann,1,2,3).", "mode: p(+a,-b,#c,`d). cancer(+ a).")
    assert modes(tmp_path) == ["p(+a,-b,#c,`d).", "cancer(+a)."]


def test_signed_numbers_in_background_are_no_marks(tmp_path):
    flat(
        tmp_path,
        FACTS,
        MODES + "mode: level(#number,+person). level(-5,ann). level(+0.5,bob). level(-1e3,'x').",
    )
    levels = {atom.args for atom in facts_of(load(tmp_path)) if atom.predicate == "level"}
    assert levels == {("-5", "ann"), ("+0.5", "bob"), ("-1e3", "x")}


def test_facts_in_background_are_facts(tmp_path):
    flat(tmp_path, FACTS, MODES + "smokes(cat). friends('Zed X',ann).")
    assert {Atom("smokes", ("cat",)), Atom("friends", ("Zed X", "ann"))} < facts_of(load(tmp_path))


def test_predicates_and_types_ignore_case_and_constants_keep_it(tmp_path):
    background = "Friends(+Person,-person). SMOKES(+PERSON). cancer(+person)."
    flat(tmp_path, "friends(Ann,ann).\nFRIENDS(Ann,ann).\nSmokes(ann).", background, pos="CANCER(Ann).")
    database = load(tmp_path)
    assert facts_of(database) == {Atom("friends", ("Ann", "ann")), Atom("smokes", ("ann",))}
    assert examples_of(database, "Cancer") == [(("Ann",), 1), (("bob",), 0)]
    assert database.schema.types() == ("person",)
    assert set(database.population("person").names) == {"Ann", "ann", "bob"}


def test_range_adds_to_the_population(tmp_path):
    flat(tmp_path, FACTS, MODES + "range: Person = {zed, 'Mr X', ann,\n   yan}.\nrange: person={one}.")
    assert set(load(tmp_path).population("person").names) == {"ann", "bob", "zed", "Mr X", "yan", "one"}


def test_facts_without_a_mode_and_of_targets_add_nothing(tmp_path):
    flat(tmp_path, FACTS + "age(cat,7).\ncancer(dan).\nheight(ann,2).\nage(ann,8).", MODES)
    database = load(tmp_path)
    assert set(database.relations) == {"friends", "smokes"}
    assert set(database.population("person").names) == {"ann", "bob"}
    assert said(database, tmp_path) == [
        "facts.txt:4:1: facts of targets are not used, because targets are known by their "
        "examples: cancer (1).",
        "facts.txt:3:1: facts without a mode are not used (add modes to use them): age (2), height (1).",
    ]


def test_every_target_counts_for_the_populations(tmp_path):
    flat(
        tmp_path,
        FACTS,
        MODES + "happy(+person).",
        pos="cancer(ann). happy(eve).",
        neg="happy(bob). cancer(fay).",
    )
    database = load(tmp_path)
    assert list(database.example_sets) == ["cancer", "happy"]
    assert set(database.population("person").names) == {"ann", "bob", "eve", "fay"}


def test_what_is_not_used_is_said_once_per_kind_by_name_and_line(tmp_path):
    background = """\
setParam: treeDepth=3.
setParam: loadAllLibraries = false.   // a comment
importLibrary: listsInLogic.
queryPred: cancer/1.
usePrologVariables: true.
useStdLogicVariables: true
okIfUnknown: recursive_smokes/1. okIfUnknown: other/2.
bridger: friends/2.
mode: friends(+person, -person!1).
mode: smokes(+person!2).
mode: cancer(+person), target=cancer, maxPerInputVars=3.
range: age=[0, 100].
hyperplane: [a, b,
   c]. smokes(zed).
mod: likes(+person).
"""
    flat(tmp_path, "useStdLogicVariables: true.\n" + FACTS, background)
    database = load(tmp_path)
    variables = "in facts every word is a constant, in upper or lower case"
    assert said(database, tmp_path) == [
        "background.txt:1:1: setParam not used (settings are options of fit): "
        "treeDepth (line 1), loadAllLibraries (line 2).",
        "background.txt:3:1: importLibrary not used (libraries are not supported): listsInLogic (line 3).",
        "background.txt:4:1: queryPred not used (the target is an option of fit): cancer/1 (line 4).",
        f"background.txt:5:1: usePrologVariables not used ({variables}): true (line 5).",
        f"background.txt:6:1: useStdLogicVariables not used ({variables}): true (line 6).",
        "background.txt:7:1: okIfUnknown not used (a predicate without facts is always accepted): "
        "recursive_smokes/1 (line 7), other/2 (line 7).",
        "background.txt:8:1: bridger not used (the search adds one literal at a time): friends/2 (line 8).",
        "background.txt:9:1: ! in a mode not used (the search does not limit how often a literal is added): "
        "friends (line 9), smokes (line 10).",
        "background.txt:11:1: settings after a mode not used "
        "(only the predicate and its arguments are understood): cancer (line 11).",
        "background.txt:12:1: range not used (only {a, b, c} is understood): age (line 12).",
        "background.txt:13:1: hyperplane not used (unknown word; known words are mode, range, "
        "import): [a, b, c] (line 13).",
        'background.txt:15:1: mod not used (unknown word; did you mean "mode"?): likes(+person) (line 15).',
    ]
    assert Atom("smokes", ("zed",)) in facts_of(database)


def test_rules_are_reported_and_not_applied(tmp_path):
    background = (
        MODES
        + """
precompute:
pair(X,Y) :- friends(X,Y), X\\==Y.
precompute1: many(A,N) :-
\tcount_friends(A,N2),
\tmember(N,[1, 3.5, 'a. b']),   % a list. with a stop
\tN2 > N.
//precompute2:
num_of_smoking_friends(x, n) :-
   friends(x, y), // grounding x first
   countUniqueBindings((friends(x,z)^smokes(z)), n).
mode: num_of_smoking_friends(+person, #number).
odd([H|T], f(X)) :- smokes(X).
last(X) :- smokes(X)
smokes(zed)
other(X) <- smokes(X)
mode: smokes(+person)
final(X) :- smokes(X)"""
    )
    flat(tmp_path, FACTS, background)
    database = load(tmp_path)
    rules = "rules are not applied; write what they derive as facts"
    assert said(database, tmp_path) == [
        f"background.txt:5:1: precompute not used ({rules}): pair (line 5).",
        f"background.txt:7:1: precompute1 not used ({rules}): many (line 7).",
        f"background.txt:12:1: rules not used ({rules}): num_of_smoking_friends (line 12), odd (line 16), "
        "last (line 17), other (line 19), final (line 21).",
        "background.txt:15:1: predicates with a mode but without facts are false everywhere: "
        "num_of_smoking_friends (line 15).",
    ]
    assert facts_of(database) == {
        Atom("friends", ("ann", "bob")),
        *(Atom("smokes", (n,)) for n in ("bob", "zed")),
    }


def test_many_names_are_cut_short(tmp_path):
    settings = "".join(f"setParam: option{number}=1.\n" for number in range(20))
    write(flat(tmp_path, FACTS, MODES + 'import: "more.txt".\nsetParam: own=1.'), {"more.txt": settings})
    (notice,) = said(load(tmp_path), tmp_path)
    assert notice.startswith("more.txt:1:1: setParam not used")
    assert notice.endswith("option11 (line 12) and 9 more.")


def test_names_from_another_file_are_shown_with_it(tmp_path):
    flat(tmp_path, "setParam: b=1.\n" + FACTS, MODES + "setParam: a=1.")
    assert said(load(tmp_path), tmp_path) == [
        "background.txt:4:1: setParam not used (settings are options of fit): a (line 4), b (facts.txt:1)."
    ]


def test_empty_files_are_said(tmp_path):
    flat(tmp_path, "  \n% nothing\n", "", pos="", neg="// none\n")
    assert said(load(tmp_path), tmp_path)[:4] == [
        "background.txt: no background in this file.",
        "facts.txt: no facts in this file.",
        "pos.txt: no positive examples in this file.",
        "neg.txt: no negative examples in this file.",
    ]


def test_a_file_that_only_imports_is_not_empty(tmp_path):
    write(flat(tmp_path, 'import: "more.txt".', MODES), {"more.txt": FACTS})
    assert said(load(tmp_path), tmp_path) == []


def test_modes_without_facts_are_said(tmp_path):
    flat(tmp_path, FACTS, MODES + "likes(+person,-person).\nlikes(-person,+person).\nhates(+person,#person).")
    assert said(load(tmp_path), tmp_path) == [
        "background.txt:4:1: predicates with a mode but without facts are false everywhere: "
        "likes (line 4), hates (line 6)."
    ]


def test_ranges_of_unknown_types_are_said(tmp_path):
    flat(tmp_path, FACTS, MODES + "range: colour={red}.")
    database = load(tmp_path)
    assert said(database, tmp_path) == [
        "background.txt:4:1: ranges of types that no mode has are not used: colour (line 4)."
    ]
    assert "colour" not in database.populations


def test_repeated_examples_and_both_labels_are_said(tmp_path):
    flat(
        tmp_path,
        FACTS,
        MODES,
        pos="cancer(dan). cancer(ann). cancer(ann). cancer('ann'). cancer(bob).",
        neg="cancer(bob). cancer(cat). cancer(dan). cancer(cat).",
    )
    database = load(tmp_path)
    assert said(database, tmp_path) == [
        '2 examples of "cancer" given with both labels, counted as positive (first: cancer(dan)).',
        '3 examples of "cancer" given more than once, counted once (first: cancer(ann)).',
    ]
    assert examples_of(database, "cancer") == [(("dan",), 1), (("ann",), 1), (("bob",), 1), (("cat",), 0)]


def test_modes_among_the_facts_are_doubted(tmp_path):
    flat(tmp_path, "friends(+person,-person).\n" + FACTS)
    assert said(load(tmp_path), tmp_path)[0] == (
        "facts.txt:1:1: friends(+person,-person) is read as a fact, though it looks like a mode; "
        'write "mode:" before modes, or keep them in background.txt.'
    )
    flat(tmp_path, "mode: friends(+person,-person). mode: cancer(+person).\n" + FACTS)
    assert modes(tmp_path) == ["friends(+person,-person).", "cancer(+person)."]


def test_a_target_without_a_mode_gets_its_types_from_shared_constants(tmp_path):
    background = "friends(+person,-person). smokes(+person). likes(+person,#thing)."
    flat(tmp_path, FACTS + "likes(ann,tea).", background, pos="wants(ann,tea).", neg="wants(new,tea).")
    database = load(tmp_path)
    assert database.schema.types_of("wants") == ("person", "thing")
    assert said(database, tmp_path) == [
        "targets without a mode were given the types that their constants have elsewhere: "
        "wants(+person,+thing)."
    ]
    assert "new" in database.population("person").names


def test_modes_as_text_read_back_to_the_same_modes(tmp_path):
    background = "'has part'(+'some type',-b). p(#a,`'not'). cancer(+person). 'not'(+person)."
    flat(tmp_path, "'has part'(x,y). p(1,2). 'not'(ann).", background)
    database = load(tmp_path)
    assert len(database.modes) == 4
    (tmp_path / "background.txt").write_text(modes_text(database))
    assert load(tmp_path).modes == database.modes
