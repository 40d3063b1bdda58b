-- A row costs Postgres about a millisecond of CPU.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM sum(i) FROM generate_series(1, 10000) AS i;
  RETURN NEW;
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION pg_temp.redline_fault();
