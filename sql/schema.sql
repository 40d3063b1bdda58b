-- One table, as the article has it. Running this again changes nothing.
CREATE TABLE IF NOT EXISTS users (
  id       serial PRIMARY KEY,
  email    varchar(255) NOT NULL,
  password varchar(255) NOT NULL
);

-- Which request has stored which user, for requests with an Idempotency-Key. Others never touch it. The table has no
-- foreign key: it would lock the user's row, and keys outlive users who are deleted.
CREATE TABLE IF NOT EXISTS redline_idempotency_keys (
  key        varchar(255) COLLATE "C" PRIMARY KEY,
  user_id    bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS redline_idempotency_keys_created_at ON redline_idempotency_keys (created_at);

-- The mark by which the lab knows that it may empty this table.
COMMENT ON TABLE users IS 'redline: emptied before every trial';
