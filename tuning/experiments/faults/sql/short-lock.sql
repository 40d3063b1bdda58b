-- A statement holds a lock for 2 ms that every other one needs, too. Alone it hardly takes longer; many wait for each other.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('redline_fault'));
  PERFORM pg_sleep(0.002);
  RETURN NULL;
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.redline_fault();
