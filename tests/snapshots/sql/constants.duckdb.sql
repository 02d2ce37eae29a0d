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
), job_rows AS (
  SELECT DISTINCT
    f."arg1" AS "arg1",
    f."arg2" AS "arg2"
  FROM "job" AS f
  WHERE
    CAST(f."arg1" AS TEXT) <> CASE WHEN TYPEOF(f."arg1") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
    AND CAST(f."arg2" AS TEXT) <> CASE WHEN TYPEOF(f."arg2") IN ('FLOAT', 'DOUBLE') THEN 'nan' ELSE '' END
), job_by_arg1_values AS (
  SELECT
    f."arg1" AS k0,
    f."arg2" AS value,
    COUNT(*) AS number
  FROM job_rows AS f
  GROUP BY
    f."arg1",
    f."arg2"
), friends_by_arg1_values AS (
  SELECT
    f."arg1" AS k0,
    m1.value,
    CAST(SUM(m1.number) AS BIGINT) AS number
  FROM friends_rows AS f
  LEFT JOIN job_by_arg1_values AS m1
    ON m1.k0 = f."arg2"
  WHERE
    f."arg1" IN (
      SELECT
        k.k0
      FROM example_keys AS k
    ) AND m1.number > 0
  GROUP BY
    f."arg1",
    m1.value
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
    e.k0,
    SUM(
      CAST(w.weight AS DOUBLE) * LN(1.0 + CASE WHEN CAST(m1.number AS DOUBLE) < 0.0 THEN 0.0 ELSE CAST(m1.number AS DOUBLE) END)
    ) AS total
  FROM (
    SELECT DISTINCT
      *
    FROM example_keys AS e
  ) AS e
  LEFT JOIN friends_by_arg1_values AS m1
    ON m1.k0 = e.k0
  INNER JOIN weights_1 AS w
    ON w.constant = CASE
      WHEN REGEXP_MATCHES(TYPEOF(m1.value), '^(FLOAT|DOUBLE|DECIMAL.*)$')
      AND NOT REGEXP_MATCHES(CAST(m1.value AS TEXT), '^(0|-?[1-9][0-9]*)$')
      THEN 'number ' || CAST(TRY_CAST(CAST(m1.value AS TEXT) AS DOUBLE) + 0.0 AS TEXT)
      WHEN REGEXP_MATCHES(TYPEOF(m1.value), '^(DATE|TIMESTAMP.*)$')
      THEN 'moment ' || CAST(CASE
        WHEN REGEXP_MATCHES(CAST(m1.value AS TEXT), ':[0-9]{2}([.][0-9]+)?(Z|[+-][0-9:]+)$')
        THEN CAST(CAST(m1.value AS TEXT) AS TIMESTAMPTZ) AT TIME ZONE 'UTC'
        ELSE CAST(CAST(m1.value AS TEXT) AS TIMESTAMP)
      END AS TEXT)
      ELSE CAST(m1.value AS TEXT)
    END
  WHERE
    m1.number > 0
  GROUP BY
    e.k0
), example_values AS (
  SELECT
    e.*,
    COALESCE(s1.total, 0.0) AS sum_1 /* risk(A) :- friends(A,B), job(B,C). */
  FROM example_keys AS e
  LEFT JOIN weighed_1 AS s1
    ON s1.k0 = e.k0
), example_scores AS (
  SELECT
    *,
    CAST(-1.0 + sum_1 AS DOUBLE) AS score
  FROM example_values
)
SELECT
  k0 AS "arg1",
  sum_1,
  score,
  1.0 / (
    1.0 + EXP(-CASE WHEN score > 700 THEN 700 WHEN score < -700 THEN -700 ELSE score END)
  ) AS probability
FROM example_scores
