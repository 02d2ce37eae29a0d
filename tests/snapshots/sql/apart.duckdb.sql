WITH example_keys AS (
  SELECT
    e."arg1" AS k0,
    e."arg2" AS k1
  FROM "examples" AS e
), friends_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1",
    f."arg2" AS "arg2"
  FROM "friends" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), job_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1",
    f."arg2" AS "arg2"
  FROM "job" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), smokes_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1"
  FROM "smokes" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), friends_2 AS (
  SELECT
    COUNT(*) AS number
  FROM friends_rows AS f
  WHERE
    f."arg2" = f."arg1"
), job_by_arg1 AS (
  SELECT
    f."arg1" AS k0,
    COUNT(*) AS number
  FROM job_rows AS f
  WHERE
    f."arg1" IN (
      SELECT
        k.k1
      FROM example_keys AS k
    )
  GROUP BY
    f."arg1"
), example_values AS (
  SELECT
    e.*,
    COALESCE(m1.number, 0) * COALESCE(m2.number, 0) * COALESCE(CASE WHEN NOT x1."arg1" IS NULL THEN 1 END, 0) AS true_1, /* advisedby(A,B) :- friends(C,C), job(B,D), smokes(A). */
    100 - (
      COALESCE(m1.number, 0) * COALESCE(m2.number, 0) * COALESCE(CASE WHEN NOT x1."arg1" IS NULL THEN 1 END, 0)
    ) AS false_1
  FROM example_keys AS e
  LEFT JOIN smokes_rows AS x1
    ON x1."arg1" = e.k0
  LEFT JOIN friends_2 AS m1
    ON TRUE
  LEFT JOIN job_by_arg1 AS m2
    ON m2.k0 = e.k1
), example_scores AS (
  SELECT
    *,
    CAST(-1.0 + (
      0.5 + 0.25 * CAST(true_1 AS DOUBLE) + -0.125 * CAST(false_1 AS DOUBLE)
    ) AS DOUBLE) AS score
  FROM example_values
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
