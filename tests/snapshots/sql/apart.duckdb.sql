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
), facts_job AS (
  SELECT DISTINCT
    f."arg1" AS c0,
    f."arg2" AS c1
  FROM "job" AS f
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
  /* friends(A,A) */
  SELECT
    COUNT(*) AS n0
  FROM facts_friends AS f
  WHERE
    f.c1 = f.c0
), message_2 AS (
  /* for each A: job(A,B) */
  SELECT
    f.c0 AS k0,
    COUNT(*) AS n0
  FROM facts_job AS f
  GROUP BY
    f.c0
), clause_counts AS (
  SELECT
    b.k0,
    b.k1,
    COALESCE(m0.n0, 0) * COALESCE(m1.n0, 0) * CASE WHEN m2.c0 IS NULL THEN 0 ELSE 1 END AS t0
  FROM example_keys AS b
  CROSS JOIN message_1 AS m0
  LEFT JOIN message_2 AS m1
    ON m1.k0 = b.k1
  LEFT JOIN facts_smokes AS m2
    ON m2.c0 = b.k0
), clause_features AS (
  SELECT
    c.k0,
    c.k1,
    c.t0 AS true_1, /* advisedby(A,B) :- friends(C,C), job(B,D), smokes(A). */
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
