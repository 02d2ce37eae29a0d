WITH example_keys AS (
  SELECT
    e.`arg1` AS k0
  FROM `examples` AS e
), friends_rows AS (
  SELECT DISTINCT
    f.`arg1` AS `arg1`,
    f.`arg2` AS `arg2`
  FROM `friends` AS f
  WHERE
    NOT f.`arg1` IS NULL AND NOT f.`arg2` IS NULL
), smokes_rows AS (
  SELECT DISTINCT
    f.`arg1` AS `arg1`
  FROM `smokes` AS f
  WHERE
    NOT f.`arg1` IS NULL
), job_rows AS (
  SELECT DISTINCT
    f.`arg1` AS `arg1`,
    f.`arg2` AS `arg2`
  FROM `job` AS f
  WHERE
    NOT f.`arg1` IS NULL AND NOT f.`arg2` IS NULL
), smokes_by_arg1 AS (
  SELECT
    f.`arg1` AS k0,
    COUNT(*) AS number
  FROM smokes_rows AS f
  GROUP BY
    f.`arg1`
), friends_by_arg1 AS (
  SELECT
    f.`arg1` AS k0,
    COUNT(*) AS number
  FROM friends_rows AS f
  LEFT JOIN job_rows AS x1
    ON x1.`arg1` = f.`arg2` AND CAST(x1.`arg2` AS STRING) = 'it\'s'
  LEFT JOIN smokes_by_arg1 AS m1
    ON m1.k0 = f.`arg2`
  WHERE
    f.`arg1` IN (
      SELECT
        k.k0
      FROM example_keys AS k
    )
    AND COALESCE(m1.number, 0) = 0
    AND NOT x1.`arg1` IS NULL
  GROUP BY
    f.`arg1`
), example_values AS (
  SELECT
    e.*,
    COALESCE(m1.number, 0) AS true_1, /* risk(A) :- friends(A,B), job(B,'it\'s'), not smokes(B). */
    1e+20 - (
      COALESCE(m1.number, 0)
    ) AS false_1
  FROM example_keys AS e
  LEFT JOIN friends_by_arg1 AS m1
    ON m1.k0 = e.k0
), example_scores AS (
  SELECT
    *,
    CAST(0.1 + (
      0.5 + 1e-09 * CAST(true_1 AS DOUBLE) + -0.125 * CAST(false_1 AS DOUBLE)
    ) AS DOUBLE) AS score
  FROM example_values
)
SELECT
  k0 AS `arg1`,
  true_1,
  false_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
