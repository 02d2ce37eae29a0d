WITH example_keys AS (
  SELECT
    e."arg1" AS k0,
    e."arg2" AS k1
  FROM "examples" AS e
), facts_friends AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "friends" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), bindings_1 AS (
  SELECT DISTINCT
    k0 AS k0,
    k1 AS k1
  FROM example_keys
), bindings_2 AS (
  SELECT DISTINCT
    g.k1 AS k0,
    f.c1 AS k1
  FROM bindings_1 AS g
  INNER JOIN facts_friends AS f
    ON f.c0 = g.k0
), message_1 AS (
  /* for each A, B: friends(B,C), friends(C,A) */
  SELECT
    g.k0 AS k0,
    g.k1 AS k1,
    COUNT(*) AS n0
  FROM bindings_2 AS g
  INNER JOIN facts_friends AS f
    ON f.c0 = g.k1
  INNER JOIN facts_friends AS m0
    ON m0.c0 = f.c1 AND m0.c1 = g.k0
  GROUP BY
    g.k0,
    g.k1
), message_2 AS (
  /* for each A, B: friends(A,C), friends(C,D), friends(D,B) */
  SELECT
    g.k0 AS k0,
    g.k1 AS k1,
    SUM(m0.n0) AS n0
  FROM bindings_1 AS g
  INNER JOIN facts_friends AS f
    ON f.c0 = g.k0
  INNER JOIN message_1 AS m0
    ON m0.k0 = g.k1 AND m0.k1 = f.c1
  GROUP BY
    g.k0,
    g.k1
), clause_counts AS (
  SELECT
    b.k0,
    b.k1,
    COALESCE(m0.n0, 0) AS t0
  FROM example_keys AS b
  LEFT JOIN message_2 AS m0
    ON m0.k0 = b.k0 AND m0.k1 = b.k1
), clause_features AS (
  SELECT
    c.k0,
    c.k1,
    c.t0 AS true_1, /* advisedby(A,B) :- friends(A,C), friends(C,D), friends(D,B). */
    100 - c.t0 AS false_1
  FROM clause_counts AS c
), example_scores AS (
  SELECT
    *,
    CAST(-1.0 + (
      0.5 + 0.25 * CAST(true_1 AS DOUBLE) + -0.125 * CAST(false_1 AS DOUBLE)
    ) AS DOUBLE) AS score
  FROM clause_features
)
SELECT
  k0 AS "arg1",
  k1 AS "arg2",
  true_1,
  false_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
