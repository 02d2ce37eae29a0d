WITH example_keys AS (
  SELECT
    e."arg1" AS k0
  FROM "examples" AS e
), facts_job AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "job" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), facts_friends AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "friends" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), facts_smokes AS (
  SELECT DISTINCT
    f."arg1" AS c0
  FROM "smokes" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), message_1 AS (
  /* for each A: job(A,clerk) */
  SELECT
    f.c0 AS k0,
    1 AS n0
  FROM facts_job AS f
  WHERE
    CAST(f.c1 AS TEXT) = 'clerk'
), message_2 AS (
  /* for each A: friends(A,B), job(B,clerk) */
  SELECT
    f.c0 AS k0,
    SUM(m0.n0) AS n0
  FROM facts_friends AS f
  INNER JOIN message_1 AS m0
    ON m0.k0 = f.c1
  GROUP BY
    f.c0
), message_3 AS (
  /* for each A: job(A,B) */
  SELECT
    f.c0 AS k0,
    COUNT(*) AS n0
  FROM facts_job AS f
  GROUP BY
    f.c0
), message_4 AS (
  /* for each A: friends(A,B), friends(B,C), job(C,clerk), job(B,D), smokes(B) */
  SELECT
    f.c0 AS k0,
    SUM(m0.n0 * m1.n0) AS n0
  FROM facts_friends AS f
  INNER JOIN message_2 AS m0
    ON m0.k0 = f.c1
  INNER JOIN message_3 AS m1
    ON m1.k0 = f.c1
  INNER JOIN facts_smokes AS m2
    ON m2.c0 = f.c1
  GROUP BY
    f.c0
), clause_counts AS (
  SELECT
    b.k0,
    COALESCE(m0.n0, 0) AS t0
  FROM example_keys AS b
  LEFT JOIN message_4 AS m0
    ON m0.k0 = b.k0
), clause_features AS (
  SELECT
    c.k0,
    c.t0 AS true_1, /* risk(A) :- friends(A,B), friends(B,C), job(B,D), job(C,clerk), smokes(B). */
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
  true_1,
  false_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
