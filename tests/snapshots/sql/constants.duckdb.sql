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
      CAST(w.weight AS DOUBLE) * LN(1.0 + CASE WHEN CAST(c.n0 AS DOUBLE) < 0.0 THEN 0.0 ELSE CAST(c.n0 AS DOUBLE) END)
    ) AS total
  FROM (
    SELECT
      g.k0 AS k0,
      CASE
        WHEN REGEXP_MATCHES(TYPEOF(f1.c1), '^(FLOAT|DOUBLE|DECIMAL.*)$')
        AND NOT REGEXP_MATCHES(CAST(f1.c1 AS TEXT), '^(0|-?[1-9][0-9]*)$')
        THEN 'number ' || CAST(TRY_CAST(CAST(f1.c1 AS TEXT) AS DOUBLE) + 0.0 AS TEXT)
        WHEN REGEXP_MATCHES(TYPEOF(f1.c1), '^(DATE|TIMESTAMP.*)$')
        THEN 'moment ' || CAST(CASE
          WHEN REGEXP_MATCHES(CAST(f1.c1 AS TEXT), ':[0-9]{2}([.][0-9]+)?(Z|[+-][0-9:]+)$')
          THEN CAST(CAST(f1.c1 AS TEXT) AS TIMESTAMPTZ) AT TIME ZONE 'UTC'
          ELSE CAST(CAST(f1.c1 AS TEXT) AS TIMESTAMP)
        END AS TEXT)
        ELSE CAST(f1.c1 AS TEXT)
      END AS constant,
      COUNT(*) AS n0
    FROM bindings_1 AS g
    INNER JOIN facts_friends AS f
      ON f.c0 = g.k0
    INNER JOIN facts_job AS f1
      ON f1.c0 = f.c1
    GROUP BY
      g.k0,
      CASE
        WHEN REGEXP_MATCHES(TYPEOF(f1.c1), '^(FLOAT|DOUBLE|DECIMAL.*)$')
        AND NOT REGEXP_MATCHES(CAST(f1.c1 AS TEXT), '^(0|-?[1-9][0-9]*)$')
        THEN 'number ' || CAST(TRY_CAST(CAST(f1.c1 AS TEXT) AS DOUBLE) + 0.0 AS TEXT)
        WHEN REGEXP_MATCHES(TYPEOF(f1.c1), '^(DATE|TIMESTAMP.*)$')
        THEN 'moment ' || CAST(CASE
          WHEN REGEXP_MATCHES(CAST(f1.c1 AS TEXT), ':[0-9]{2}([.][0-9]+)?(Z|[+-][0-9:]+)$')
          THEN CAST(CAST(f1.c1 AS TEXT) AS TIMESTAMPTZ) AT TIME ZONE 'UTC'
          ELSE CAST(CAST(f1.c1 AS TEXT) AS TIMESTAMP)
        END AS TEXT)
        ELSE CAST(f1.c1 AS TEXT)
      END
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
