WITH example_keys AS (
  SELECT
    e."arg1" AS k0
  FROM "examples" AS e
), facts_friends AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "friends" AS f
  WHERE
    NOT f."arg1" IS NULL AND NOT f."arg2" IS NULL
), facts_job AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "job" AS f
  WHERE
    NOT f."arg1" IS NULL AND NOT f."arg2" IS NULL
), clause_counts AS (
  SELECT
    b.k0
  FROM example_keys AS b
), bindings_1 AS (
  SELECT DISTINCT
    k0 AS k0
  FROM example_keys
), weights_1 AS (
  SELECT
    w.constant AS constant,
    w.weight AS weight
  FROM (VALUES
    ('clerk', 0.5),
    ('it''s', -0.25)) AS w(constant, weight)
), weighed_1 AS (
  /* a weight for each C of risk(A) :- friends(A,B), job(B,C). */
  SELECT
    c.k0,
    SUM(
      CAST(w.weight AS DOUBLE) * LN(
        1.0 + CASE WHEN CAST(c.n0 AS DOUBLE) < 0.0 THEN 0.0 ELSE CAST(c.n0 AS DOUBLE) END
      )
    ) AS total
  FROM (
    SELECT
      g.k0 AS k0,
      CAST(f1.c1 AS TEXT) AS constant,
      COUNT(*) AS n0
    FROM bindings_1 AS g
    INNER JOIN facts_friends AS f
      ON f.c0 = g.k0
    INNER JOIN facts_job AS f1
      ON f1.c0 = f.c1
    GROUP BY
      g.k0,
      CAST(f1.c1 AS TEXT)
  ) AS c
  INNER JOIN weights_1 AS w
    ON c.constant = w.constant
  GROUP BY
    c.k0
), clause_features AS (
  SELECT
    c.k0,
    COALESCE(s1.total, 0.0) AS sum_1 /* risk(A) :- friends(A,B), job(B,C). */
  FROM clause_counts AS c
  LEFT JOIN weighed_1 AS s1
    ON s1.k0 = c.k0
), example_scores AS (
  SELECT
    *,
    CAST(-1.0 + sum_1 AS DOUBLE) AS score
  FROM clause_features
)
SELECT
  k0 AS "arg1",
  sum_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
