# Written by tools/reference.py from the declarations in hornbeam.learning.options: run `make reference`.

from hornbeam.data.database import Database
from hornbeam.estimators.classifier import RelationalClassifier
from hornbeam.estimators.columns import EffectsAsColumns
from hornbeam.estimators.regressor import RelationalRegressor

class RLRClassifier(EffectsAsColumns, RelationalClassifier):
    """Relational logistic regression as a scikit-learn classifier.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=400)
    >>> X, y = database.examples("cancer")
    >>> classifier = RLRClassifier(database=database, target="cancer", n_bags=2)
    >>> classifier.fit(X, y).predict_proba(X).shape
    (400, 2)

    Each preset has options of its own. An option that is not given has the value of the preset:

    >>> RLRClassifier().l2, RLRClassifier(preset="paper").l2, RLRClassifier(preset="paper", l2=2.0).l2
    (5.0, 1000.0, 2.0)

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    preset : str, default='default'
        What is learned: default or paper. An option that is not given has the value of the preset.
        The defaults shown here are those of the default preset. An option of the other preset is
        refused.
    n_steps : int | None, default=None
        Maximum number of boosting steps. Each step adds to a curve (preset paper: a clause,
        mln-boost: several, rdn-boost: a tree). In the default preset, auto is 600; if held-out
        examples choose the number, it is half the number of examples that are learned from if that
        is more, but at most 2000. Must be a whole number from 1 to 1000000 or None; None is auto.
        Preset paper: 10.
    learning_rate : float, default=0.1
        Share of its best size that each step has. Must be a finite number above 0 and at most 1.
    n_bags : int, default=10
        Number of models that are averaged, each learned from 85 % of the examples; the others
        choose the number of steps. 1 learns one model, and chooses the number of steps by
        cross-validation. If examples have cut-offs and no group is given, later examples choose it.
        Must be a whole number from 1 to 1000.
    l2 : float, default=5.0
        Strength of the ridge penalty on the weights. Must be a finite number above 0 and at most
        1e+100. Preset paper: 1000.0.
    n_cuts : int | None, default=None
        Maximum number of cuts of a curve; auto for 8 to 32, by the number of examples; 32 for
        numbers. Must be a whole number from 1 to 100 or None; None is auto.
    max_links : int, default=2
        Maximum number of links to many things in a body. Links to one thing are free. Must be a
        whole number from 0 to 4.
    max_conditions : int, default=2
        Maximum number of conditions in a body: constants, comparisons, flags. Must be a whole
        number from 0 to 4.
    max_literals : int | None, default=None
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 20 or
        None; None is any. Preset paper: 4.
    max_effects : int | str | None, default=None
        Maximum number of effects in the model, or all for the long model. With auto, it is 20, or
        up to 120 if 20 keep less than 95 % of what the long model gains on held-out examples. The
        model has the fewest effects that keep the share keep_gain. Must be a whole number from 1 to
        1000000 or None or 'all'; None is auto.
    keep_gain : float, default=0.97
        Share of the long model's gain on held-out examples over a constant that the effects of the
        model keep. Must be a finite number above 0 and at most 1.
    min_support : int | None, default=None
        Minimum number of training examples on each side of a cut, and with a constant; auto for 3,
        or 0.2 % of the examples if that is more. Must be a whole number from 1 to 1000000000 or
        None; None is auto.
    per_constant : bool, default=True
        Allow weights for each constant of a variable.
    validate : bool, default=True
        Choose the number of steps and of effects on held-out examples; otherwise all steps are
        done.
    neg_pos_ratio : float | None, default=50.0
        Number of negatives to draw at random for each positive in training. Must be a finite number
        above 0 or None; None is all. Preset paper: None.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    prior : float | str, default='base-rate'
        Log-odds before the first step: a number, or base-rate for the log-odds of the positives
        among the training examples. For numeric targets, the score: with base-rate, that of the
        best constant. Steps that add to curves, and refit, fit the intercept again. Must be a
        finite number of a size of at most 1e+100 or 'base-rate'. Preset paper: 0.0.
    negation : bool, default=False
        Allow negated literals. Effects have none: a curve has a level for a count of 0.
    n_thresholds : int, default=8
        Maximum number of thresholds that are tried for each numeric argument; 0 allows no
        comparisons. Must be a whole number from 0 to 10000. Preset paper: 16.
    loss : str, default='auto'
        Loss to minimise: logistic for labels and classes; for numbers squared, absolute, huber,
        which is squared for all but outliers, or poisson, which is for counts; choice for which of
        several alternatives is right. auto is logistic for labels and squared for numbers; logistic
        learns numbers as classes. Must be 'auto' or 'logistic' or 'squared' or 'absolute' or
        'huber' or 'poisson' or 'choice'.
    group : str | None, default=None
        Keep examples together that are linked to the same thing of this table: bags, folds and
        held-out examples have all or none of them. Without it, examples are held out one by one, or
        by time if they have cut-offs. Must be a name or None; None is none.
    choice : str | None, default=None
        For the loss choice, the column whose equal values are one choice: a column of the target's
        table, or one of its keys. Bags, folds and held-out examples have a choice whole or not at
        all. If it is not given, the examples need a column choice. Must be a name or None; None is
        none.
    rising : tuple[str, ...], default=()
        Effects whose curve may only rise with the value, named by words as show prints them, such
        as "number of orders" or "age"; longer phrases that begin so are meant, too. Not for more
        than two classes. Must be phrases, in a list or a tuple.
    falling : tuple[str, ...], default=()
        Effects whose curve may only fall with the value, named by words as show prints them, such
        as "number of orders" or "age"; longer phrases that begin so are meant, too. Not for more
        than two classes. Must be phrases, in a list or a tuple.
    beam_width : int, default=1
        Number of candidates that are kept at each length of the search. Must be a whole number from
        1 to 1000000. Belongs to preset paper.
    stop : str, default='full'
        Take the best clause of any length (best), or always extend clauses to the maximum length
        (full). Must be 'best' or 'full'. Belongs to preset paper.
    populations : str, default='database'
        Data that give the total number of groundings of each clause in a prediction: the data to
        predict on (database), or the training data (training; always if examples have cut-offs).
        Must be 'database' or 'training'. Belongs to preset paper.
    false_counts : str, default='population'
        How false groundings are counted: over all combinations of constants (population), or only
        where the body without its last literal holds (guarded). Must be 'population' or 'guarded'.
        Belongs to preset paper.
    feature : str, default='count'
        Number that a weight multiplies: the count, or log for ln(1 + count). Must be 'count' or
        'log'. Belongs to preset paper.
    refit : bool, default=False
        Fit the weights of all clauses again, jointly, after each step. Belongs to preset paper.
    length_penalty : float, default=0.0
        Share of its gain that a clause loses for each literal after the first. Must be a number
        from 0 to less than 1. Belongs to preset paper.
    look_ahead : bool, default=False
        Extend literals that only introduce a new variable, even if they gain nothing themselves.
        Belongs to preset paper.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    preset: str
    n_steps: int | None
    learning_rate: float
    n_bags: int
    l2: float
    n_cuts: int | None
    max_links: int
    max_conditions: int
    max_literals: int | None
    max_effects: int | str | None
    keep_gain: float
    min_support: int | None
    per_constant: bool
    validate: bool
    neg_pos_ratio: float | None
    seed: int
    prior: float | str
    negation: bool
    n_thresholds: int
    loss: str
    group: str | None
    choice: str | None
    rising: tuple[str, ...]
    falling: tuple[str, ...]
    beam_width: int
    stop: str
    populations: str
    false_counts: str
    feature: str
    refit: bool
    length_penalty: float
    look_ahead: bool
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        preset: str = "default",
        n_steps: int | None = None,
        learning_rate: float = 0.1,
        n_bags: int = 10,
        l2: float = 5.0,
        n_cuts: int | None = None,
        max_links: int = 2,
        max_conditions: int = 2,
        max_literals: int | None = None,
        max_effects: int | str | None = None,
        keep_gain: float = 0.97,
        min_support: int | None = None,
        per_constant: bool = True,
        validate: bool = True,
        neg_pos_ratio: float | None = 50.0,
        seed: int = 0,
        prior: float | str = "base-rate",
        negation: bool = False,
        n_thresholds: int = 8,
        loss: str = "auto",
        group: str | None = None,
        choice: str | None = None,
        rising: tuple[str, ...] = (),
        falling: tuple[str, ...] = (),
        beam_width: int = 1,
        stop: str = "full",
        populations: str = "database",
        false_counts: str = "population",
        feature: str = "count",
        refit: bool = False,
        length_penalty: float = 0.0,
        look_ahead: bool = False,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...

class RLRRegressor(EffectsAsColumns, RelationalRegressor):
    """Effects with curves that add up to a number, as a scikit-learn regressor.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=400)
    >>> X, y = database.examples("cancer")
    >>> days = 50.0 + 10.0 * y
    >>> RLRRegressor(database=database, target="cancer", n_bags=2).fit(X, days).predict(X).shape
    (400,)

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    loss : str, default='squared'
        What is minimised: squared or absolute or huber or poisson. squared predicts means; absolute
        predicts medians, and outliers count little; huber predicts means in which outliers count
        little; poisson is for counts, and effects multiply.
    n_steps : int | None, default=None
        Maximum number of boosting steps. Each step adds to a curve (preset paper: a clause,
        mln-boost: several, rdn-boost: a tree). In the default preset, auto is 600; if held-out
        examples choose the number, it is half the number of examples that are learned from if that
        is more, but at most 2000. Must be a whole number from 1 to 1000000 or None; None is auto.
    learning_rate : float, default=0.1
        Share of its best size that each step has. Must be a finite number above 0 and at most 1.
    n_bags : int, default=10
        Number of models that are averaged, each learned from 85 % of the examples; the others
        choose the number of steps. 1 learns one model, and chooses the number of steps by
        cross-validation. If examples have cut-offs and no group is given, later examples choose it.
        Must be a whole number from 1 to 1000.
    l2 : float, default=5.0
        Strength of the ridge penalty on the weights. Must be a finite number above 0 and at most
        1e+100.
    n_cuts : int | None, default=None
        Maximum number of cuts of a curve; auto for 8 to 32, by the number of examples; 32 for
        numbers. Must be a whole number from 1 to 100 or None; None is auto.
    max_links : int, default=2
        Maximum number of links to many things in a body. Links to one thing are free. Must be a
        whole number from 0 to 4.
    max_conditions : int, default=2
        Maximum number of conditions in a body: constants, comparisons, flags. Must be a whole
        number from 0 to 4.
    max_literals : int | None, default=None
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 20 or
        None; None is any.
    max_effects : int | str | None, default=None
        Maximum number of effects in the model, or all for the long model. With auto, it is 20, or
        up to 120 if 20 keep less than 95 % of what the long model gains on held-out examples. The
        model has the fewest effects that keep the share keep_gain. Must be a whole number from 1 to
        1000000 or None or 'all'; None is auto.
    keep_gain : float, default=0.97
        Share of the long model's gain on held-out examples over a constant that the effects of the
        model keep. Must be a finite number above 0 and at most 1.
    min_support : int | None, default=None
        Minimum number of training examples on each side of a cut, and with a constant; auto for 3,
        or 0.2 % of the examples if that is more. Must be a whole number from 1 to 1000000000 or
        None; None is auto.
    per_constant : bool, default=True
        Allow weights for each constant of a variable.
    validate : bool, default=True
        Choose the number of steps and of effects on held-out examples; otherwise all steps are
        done.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    prior : float | str, default='base-rate'
        Log-odds before the first step: a number, or base-rate for the log-odds of the positives
        among the training examples. For numeric targets, the score: with base-rate, that of the
        best constant. Steps that add to curves, and refit, fit the intercept again. Must be a
        finite number of a size of at most 1e+100 or 'base-rate'.
    negation : bool, default=False
        Allow negated literals. Effects have none: a curve has a level for a count of 0.
    n_thresholds : int, default=8
        Maximum number of thresholds that are tried for each numeric argument; 0 allows no
        comparisons. Must be a whole number from 0 to 10000.
    group : str | None, default=None
        Keep examples together that are linked to the same thing of this table: bags, folds and
        held-out examples have all or none of them. Without it, examples are held out one by one, or
        by time if they have cut-offs. Must be a name or None; None is none.
    rising : tuple[str, ...], default=()
        Effects whose curve may only rise with the value, named by words as show prints them, such
        as "number of orders" or "age"; longer phrases that begin so are meant, too. Not for more
        than two classes. Must be phrases, in a list or a tuple.
    falling : tuple[str, ...], default=()
        Effects whose curve may only fall with the value, named by words as show prints them, such
        as "number of orders" or "age"; longer phrases that begin so are meant, too. Not for more
        than two classes. Must be phrases, in a list or a tuple.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    loss: str
    n_steps: int | None
    learning_rate: float
    n_bags: int
    l2: float
    n_cuts: int | None
    max_links: int
    max_conditions: int
    max_literals: int | None
    max_effects: int | str | None
    keep_gain: float
    min_support: int | None
    per_constant: bool
    validate: bool
    seed: int
    prior: float | str
    negation: bool
    n_thresholds: int
    group: str | None
    rising: tuple[str, ...]
    falling: tuple[str, ...]
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        loss: str = "squared",
        n_steps: int | None = None,
        learning_rate: float = 0.1,
        n_bags: int = 10,
        l2: float = 5.0,
        n_cuts: int | None = None,
        max_links: int = 2,
        max_conditions: int = 2,
        max_literals: int | None = None,
        max_effects: int | str | None = None,
        keep_gain: float = 0.97,
        min_support: int | None = None,
        per_constant: bool = True,
        validate: bool = True,
        seed: int = 0,
        prior: float | str = "base-rate",
        negation: bool = False,
        n_thresholds: int = 8,
        group: str | None = None,
        rising: tuple[str, ...] = (),
        falling: tuple[str, ...] = (),
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...

class AggLRClassifier(RelationalClassifier):
    """Logistic regression on relational aggregates as a scikit-learn classifier.

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    max_literals : int, default=2
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 4.
    feature : str, default='log'
        Number that a weight multiplies: the count, or log for ln(1 + count). Must be 'count' or
        'log'.
    l2 : float, default=1.0
        Strength of the ridge penalty on the weights. The penalty is on the weights of standardised
        columns. Must be a finite number above 0 and at most 1e+100.
    neg_pos_ratio : float | None, default=None
        Number of negatives to draw at random for each positive in training. Must be a finite number
        above 0 or None; None is all.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    max_literals: int
    feature: str
    l2: float
    neg_pos_ratio: float | None
    seed: int
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        max_literals: int = 2,
        feature: str = "log",
        l2: float = 1.0,
        neg_pos_ratio: float | None = None,
        seed: int = 0,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...

class IlpRLRClassifier(EffectsAsColumns, RelationalClassifier):
    """Clauses by inductive logic programming, then their weights, as a scikit-learn classifier.

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    max_literals : int, default=4
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 20.
    max_rounds : int, default=2
        Number of rounds in which a bottom clause is built; each round follows links one step
        further. Must be a whole number from 1 to 10.
    max_recall : int, default=10
        Maximum number of facts that a mode adds to a bottom clause for each binding of its inputs.
        Must be a whole number from 1 to 1000000.
    max_bodies : int, default=500
        Maximum number of clause bodies that are tried for one positive example. Must be a whole
        number from 1 to 100000000.
    l2 : float, default=1.0
        Strength of the ridge penalty on the weights. Must be a finite number above 0 and at most
        1e+100.
    neg_pos_ratio : float | None, default=2.0
        Number of negatives to draw at random for each positive in training. Only the search for
        clauses uses the sample; the weights are fitted to all examples. Must be a finite number
        above 0 or None; None is all.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    n_thresholds : int, default=16
        Maximum number of thresholds that are tried for each numeric argument; 0 allows no
        comparisons. Must be a whole number from 0 to 10000.
    populations : str, default='training'
        Data that give the total number of groundings of each clause in a prediction: the data to
        predict on (database), or the training data (training; always if examples have cut-offs).
        Must be 'database' or 'training'.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    max_literals: int
    max_rounds: int
    max_recall: int
    max_bodies: int
    l2: float
    neg_pos_ratio: float | None
    seed: int
    n_thresholds: int
    populations: str
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        max_literals: int = 4,
        max_rounds: int = 2,
        max_recall: int = 10,
        max_bodies: int = 500,
        l2: float = 1.0,
        neg_pos_ratio: float | None = 2.0,
        seed: int = 0,
        n_thresholds: int = 16,
        populations: str = "training",
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...

class MLNBoostClassifier(EffectsAsColumns, RelationalClassifier):
    """Boosted clauses with one weight each as a scikit-learn classifier.

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    n_steps : int, default=10
        Maximum number of boosting steps. Each step adds to a curve (preset paper: a clause,
        mln-boost: several, rdn-boost: a tree). In the default preset, auto is 600; if held-out
        examples choose the number, it is half the number of examples that are learned from if that
        is more, but at most 2000. Must be a whole number from 1 to 1000000.
    clauses_per_step : int, default=3
        Maximum number of clauses that a step adds; each is fitted to what the earlier ones leave
        unexplained. Must be a whole number from 1 to 1000.
    max_literals : int, default=4
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 20.
    beam_width : int, default=10
        Number of candidates that are kept at each length of the search. Must be a whole number from
        1 to 1000000.
    stop : str, default='best'
        Take the best clause of any length (best), or always extend clauses to the maximum length
        (full). Must be 'best' or 'full'.
    prior : float | str, default=0.0
        Log-odds before the first step: a number, or base-rate for the log-odds of the positives
        among the training examples. For numeric targets, the score: with base-rate, that of the
        best constant. Steps that add to curves, and refit, fit the intercept again. Must be a
        finite number of a size of at most 1e+100 or 'base-rate'.
    neg_pos_ratio : float | None, default=2.0
        Number of negatives to draw at random for each positive in training. Must be a finite number
        above 0 or None; None is all.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    negation : bool, default=False
        Allow negated literals. Effects have none: a curve has a level for a count of 0.
    n_thresholds : int, default=16
        Maximum number of thresholds that are tried for each numeric argument; 0 allows no
        comparisons. Must be a whole number from 0 to 10000.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    n_steps: int
    clauses_per_step: int
    max_literals: int
    beam_width: int
    stop: str
    prior: float | str
    neg_pos_ratio: float | None
    seed: int
    negation: bool
    n_thresholds: int
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        n_steps: int = 10,
        clauses_per_step: int = 3,
        max_literals: int = 4,
        beam_width: int = 10,
        stop: str = "best",
        prior: float | str = 0.0,
        neg_pos_ratio: float | None = 2.0,
        seed: int = 0,
        negation: bool = False,
        n_thresholds: int = 16,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...

class RDNBoostClassifier(RelationalClassifier):
    """Boosted relational regression trees as a scikit-learn classifier.

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them.
    target : str | None, default=None
        The predicate to learn. It may be left out if the database has examples of one target only.
    n_steps : int, default=10
        Maximum number of boosting steps. Each step adds to a curve (preset paper: a clause,
        mln-boost: several, rdn-boost: a tree). In the default preset, auto is 600; if held-out
        examples choose the number, it is half the number of examples that are learned from if that
        is more, but at most 2000. Must be a whole number from 1 to 1000000.
    max_depth : int, default=3
        Maximum number of tests from the root of a tree to a leaf. Must be a whole number from 1 to
        30.
    max_leaves : int, default=8
        Maximum number of leaves of a tree; the split with the greatest gain comes first. Must be a
        whole number from 2 to 10000.
    min_examples : int, default=1
        Minimum number of training examples in a leaf. Must be a whole number from 1 to 1000000000.
    max_literals : int, default=2
        Maximum number of literals in a clause body (rdn-boost: in a test, agg-lr: in a path). A
        comparison that is added together with an atom is not counted. For effects, the maximum
        number of links and conditions in a body together. Must be a whole number from 1 to 20.
    beam_width : int, default=10
        Number of candidates that are kept at each length of the search. Must be a whole number from
        1 to 1000000.
    prior : float | str, default=-1.8
        Log-odds before the first step: a number, or base-rate for the log-odds of the positives
        among the training examples. For numeric targets, the score: with base-rate, that of the
        best constant. Steps that add to curves, and refit, fit the intercept again. Must be a
        finite number of a size of at most 1e+100 or 'base-rate'.
    neg_pos_ratio : float | None, default=2.0
        Number of negatives to draw at random for each positive in training. Must be a finite number
        above 0 or None; None is all.
    redraw : bool, default=True
        Draw new negatives in each step.
    seed : int, default=0
        Seed for the draw of negatives and of examples to hold out. Must be a whole number from 0 to
        9223372036854775807.
    negation : bool, default=False
        Allow negated literals. Effects have none: a curve has a level for a count of 0.
    n_thresholds : int, default=16
        Maximum number of thresholds that are tried for each numeric argument; 0 allows no
        comparisons. Must be a whole number from 0 to 10000.
    unknown : str, default='warn'
        What to do about keys that are not in the database: 'warn' counts them as having no facts,
        'error' refuses them.
    engine : str, default='memory'
        The engine that counts: memory, duckdb, postgres, spark or naive.
    memory : int, default=2000000000
        Budget for partial results, in bytes.
    n_jobs : int | None, default=None
        Number of processes that learn at the same time: None is 1, -1 one for each processor. The
        model is the same for every number. Used by the default preset.
    time_limit : float | None, default=None
        Seconds after which a fit ends. It keeps the steps done so far, and warns.
    verbose : int, default=0
        Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.
    """

    database: Database | None
    target: str | None
    n_steps: int
    max_depth: int
    max_leaves: int
    min_examples: int
    max_literals: int
    beam_width: int
    prior: float | str
    neg_pos_ratio: float | None
    redraw: bool
    seed: int
    negation: bool
    n_thresholds: int
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        n_steps: int = 10,
        max_depth: int = 3,
        max_leaves: int = 8,
        min_examples: int = 1,
        max_literals: int = 2,
        beam_width: int = 10,
        prior: float | str = -1.8,
        neg_pos_ratio: float | None = 2.0,
        redraw: bool = True,
        seed: int = 0,
        negation: bool = False,
        n_thresholds: int = 16,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = 2000000000,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None: ...
