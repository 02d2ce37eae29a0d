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
), keys_1 AS (
  SELECT DISTINCT
    e.k0,
    e.k1
  FROM example_keys AS e
), friends_by_arg1_reached AS (
  SELECT
    f."arg2" AS "arg2",
    k.k1 AS "k1",
    f."arg1" AS "arg1"
  FROM keys_1 AS k
  INNER JOIN friends_rows AS f
    ON f."arg1" = k.k0
), keys_2 AS (
  SELECT DISTINCT
    r."arg2" AS k0,
    r."k1"
  FROM friends_by_arg1_reached AS r
), friends_by_arg1 AS (
  SELECT
    f."arg1" AS k0,
    k.k1,
    COUNT(*) AS number
  FROM keys_2 AS k
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
    r."k1",
    CAST(SUM(m1.number) AS BIGINT) AS number
  FROM friends_by_arg1_reached AS r
  LEFT JOIN friends_by_arg1 AS m1
    ON m1.k0 = r."arg2" AND m1.k1 = r."k1"
  GROUP BY
    r."arg1",
    r."k1"
), example_values AS (
  SELECT
    e.*,
    COALESCE(m1.number, 0) AS true_1, /* advisedby(A,B) :- friends(A,C), friends(C,D), friends(D,B). */
    100 - (
      COALESCE(m1.number, 0)
    ) AS false_1
  FROM example_keys AS e
  LEFT JOIN friends_by_arg1_2 AS m1
    ON m1.k0 = e.k0 AND m1.k1 = e.k1
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
