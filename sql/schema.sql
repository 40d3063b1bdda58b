-- One table, as the article has it. Running this again changes nothing.
CREATE TABLE IF NOT EXISTS users (
  id       bigserial PRIMARY KEY,
  email    varchar(255) NOT NULL,
  password varchar(255) NOT NULL
);

-- A table from an earlier version has integer ids, which run out at 2147483647. Changing their type rewrites the table
-- while its clients wait, so a table that holds rows is left to its owner.
DO $$
DECLARE
  change text;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = 'users'::regclass AND attname = 'id' AND atttypid = 'int4'::regtype
  ) THEN
    RETURN;
  END IF;
  change := 'ALTER TABLE users ALTER COLUMN id TYPE bigint'
    || coalesce('; ALTER SEQUENCE ' || pg_get_serial_sequence('users', 'id') || ' AS bigint', '');
  IF NOT EXISTS (SELECT FROM users) THEN
    LOCK TABLE users;
    -- A row may have come in before the lock.
    IF NOT EXISTS (SELECT FROM users) THEN
      EXECUTE change;
      RETURN;
    END IF;
  END IF;
  RAISE WARNING 'the ids of table users are integers, which run out at 2147483647; to make them bigint, which rewrites the table while its clients wait, run: %', change;
END $$;

-- Which request has stored which user, for requests with an Idempotency-Key. Others never touch it. The table has no
-- foreign key: it would lock the user's row, and keys outlive users who are deleted.
CREATE TABLE IF NOT EXISTS redline_idempotency_keys (
  key        varchar(255) COLLATE "C" PRIMARY KEY,
  user_id    bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS redline_idempotency_keys_created_at ON redline_idempotency_keys (created_at);
