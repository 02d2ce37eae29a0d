WITH example_keys AS (
  SELECT
    e."arg1" AS k0,
    e."arg2" AS k1
  FROM "examples" AS e
), publication_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1",
    f."arg2" AS "arg2"
  FROM "publication" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), keys_1 AS (
  SELECT DISTINCT
    e.k0,
    e.k1
  FROM example_keys AS e
), publication_by_arg2 AS (
  SELECT
    f."arg2" AS k0,
    k.k1,
    COUNT(*) AS number
  FROM keys_1 AS k
  INNER JOIN publication_rows AS f
    ON f."arg2" = k.k0
  LEFT JOIN publication_rows AS x1
    ON x1."arg1" = f."arg1" AND x1."arg2" = k.k1
  WHERE
    NOT x1."arg1" IS NULL
  GROUP BY
    f."arg2",
    k.k1
), example_values AS (
  SELECT
    e.*,
    COALESCE(m1.number, 0) AS true_1, /* advisedby(A,B) :- publication(C,A), publication(C,B). */
    100 - (
      COALESCE(m1.number, 0)
    ) AS false_1
  FROM example_keys AS e
  LEFT JOIN publication_by_arg2 AS m1
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
