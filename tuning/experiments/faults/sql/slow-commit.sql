-- Postgres waits 20 ms longer before it flushes a commit (xlog.c, XLogFlush), for each transaction that inserts and no other. A dose of
-- a proof, which sets the same for all sessions, adds to it.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('commit_delay', (current_setting('commit_delay')::int + 20000)::text, true);
  SET LOCAL commit_siblings = 0;
  RETURN NULL;
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.redline_fault();
