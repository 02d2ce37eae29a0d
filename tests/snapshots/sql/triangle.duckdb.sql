WITH example_keys AS (
  SELECT
    e."arg1" AS k0
  FROM "examples" AS e
), friends_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1",
    f."arg2" AS "arg2"
  FROM "friends" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), friends_by_arg1_reached AS (
  SELECT
    f."arg2" AS "arg2",
    f."arg1" AS "arg1"
  FROM friends_rows AS f
  WHERE
    f."arg1" IN (
      SELECT
        k.k0
      FROM example_keys AS k
    )
), keys_1 AS (
  SELECT DISTINCT
    r."arg2" AS k0,
    r."arg1" AS k1
  FROM friends_by_arg1_reached AS r
), friends_by_arg1 AS (
  SELECT
    f."arg1" AS k0,
    k.k1,
    COUNT(*) AS number
  FROM keys_1 AS k
  INNER JOIN friends_rows AS f
    ON f."arg1" = k.k0
  LEFT JOIN friends_rows AS x1
    ON x1."arg1" = f."arg2" AND x1."arg2" = k.k1
  WHERE
    NOT x1."arg1" IS NULL
  GROUP BY
    f."arg1",
    k.k1
), friends_by_arg1_2 AS (
  SELECT
    r."arg1" AS k0,
    CAST(SUM(m1.number) AS BIGINT) AS number
  FROM friends_by_arg1_reached AS r
  LEFT JOIN friends_by_arg1 AS m1
    ON m1.k0 = r."arg2" AND m1.k1 = r."arg1"
  GROUP BY
    r."arg1"
), example_values AS (
  SELECT
    e.*,
    COALESCE(m1.number, 0) AS true_1, /* risk(A) :- friends(A,B), friends(B,C), friends(C,A). */
    100 - (
      COALESCE(m1.number, 0)
    ) AS false_1
  FROM example_keys AS e
  LEFT JOIN friends_by_arg1_2 AS m1
    ON m1.k0 = e.k0
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
  true_1,
  false_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
