-- Postgres waits 20 ms before it flushes a commit (xlog.c, XLogFlush), for each transaction that inserts and no other.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL commit_delay = 20000;
  SET LOCAL commit_siblings = 0;
  RETURN NULL;
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.redline_fault();
